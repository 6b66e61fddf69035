"""What a run learned in one file to give away: the network, what it was trained on, and how good it is.

The file is a network as a run keeps it (safetensors with a checksum), with the configuration and the result
of the run. A model card is beside it.
"""

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ngs.errors import DataError, NGSError
from ngs.learning import tensor_file
from ngs.learning.whole_file import replacing
from ngs.tasks.clevr.scenes import ATTRIBUTES
from ngs.tasks.pictures.settings import RENDERED, TrainScenes
from ngs.tasks.pictures.trainable import SCENES
from ngs.tasks.run_folder import A_NETWORK, BEST, ENVIRONMENT, RESULT, Configured, read_facts, settings_for

MOST_BYTES = 40_000_000

MEASURES = {
    "objects_right": "objects found with all four attributes right",
    "found": "objects found",
    "false": "false objects, of those seen",
    **{name: f"{name} right, of objects found" for name in ATTRIBUTES},
    "relations": "pairwise relations right",
    "pictures_right": "pictures wholly right",
}
"""The shares on a model card."""


@dataclass(frozen=True)
class Written:
    path: Path
    card: Path
    bytes: int
    sha256: str


def card_of(weights: Path) -> Path:
    return weights.with_name(f"{weights.name}.md")


def write_weights(run: Path, out: Path) -> Written:
    """Write the best network of a finished run to `out`, and its card beside it."""
    settings = settings_for(run, SCENES, TrainScenes)
    if not run.is_dir():
        raise DataError(f"{run} is no folder of a run, but weights already; copy the file and its card")
    if not (run / RESULT).exists():
        raise DataError(
            f"{run} is not finished, so nobody knows how good it is; go on with: "
            f"ngs train scenes --resume {run}"
        )
    tensors, facts = tensor_file.load(run / BEST, A_NETWORK, "train one with `ngs train scenes`")
    kept = {
        "config": Configured(SCENES, settings).as_facts(),
        "result": read_facts(run / RESULT),
        "environment": read_facts(run / ENVIRONMENT),
    }
    with replacing(out) as stage:  # an older file stays if this one is refused
        tensor_file.save(stage, A_NETWORK, tensors, {**facts, **kept})
        content = stage.read_bytes()
        if len(content) > MOST_BYTES:
            raise NGSError(
                f"the weights take {len(content) / 1e6:.1f} MB, and at most {MOST_BYTES / 1e6:.0f} are "
                f"allowed; train a smaller --network"
            )
    numbers = sum(tensor.numel() for tensor in tensors.values() if tensor.is_floating_point())
    made = Written(out, card_of(out), len(content), hashlib.sha256(content).hexdigest())
    with replacing(made.card) as stage:
        stage.write_text(_card(made, numbers, facts["step"], **kept), "utf-8")
    return made


def _card(
    made: Written,
    numbers: int,
    step: int,
    config: Mapping[str, Any],
    result: Mapping[str, Any],
    environment: Mapping[str, Any],
) -> str:
    """The model card in Markdown; it has the command only if a person typed it."""
    name, test, command = made.path.name, result["test"], environment.get("command")
    others = f"of {result['data']}, and {result['rendered']:,} that NGS rendered"
    about = {
        "file": f"{made.bytes / 1e6:.1f} MB, safetensors, {numbers:,} numbers in float32",
        "SHA-256": made.sha256,
        "data": f"{result['pictures']:,} pictures "
        + ("that NGS rendered, and none else" if result["data"] == RENDERED else others),
        "digest of the data": result["digest"],
        "trained": f"{result['steps']:,} steps in {result['training_seconds']:,.0f} s on "
        f"{environment.get('device')}; the network of step {step:,}",
        "commit": environment.get("commit") or "unknown",
    }
    measured = {
        what: "-" if test[share] is None else f"{test[share]:.2%}" for share, what in MEASURES.items()
    }
    if test["position_error"] is not None:
        near = f"{test['position_error']:.3f}; {test['position_error_95']:.3f}"
        measured["distance from where an object stands: mean; 95% within"] = near
    trained = f"Trained with\n\n```\n{shlex.join(command)}\n```\n\n" if command else ""
    return f"""# {name}

A network that sees the scene in a CLEVR picture of 480x320 pixels: up to ten objects with box, size, color, \
material and shape, and where they stand on the ground. Made by `ngs weights`; use it with

```
ngs see {name} picture.png
```

{_table(about)}

{trained}\
## Measured on the test part ({test["pictures"]:,} pictures, {test["objects"]:,} objects)

{_table(measured)}

## Settings

{_table({key.replace("_", " "): value for key, value in config.items()})}

## Limits

CLEVR's objects, colors and camera alone; at most ten objects; how objects are turned is not seen.
"""


def _table(rows: Mapping[str, Any]) -> str:
    return "\n".join(f"| {name} | {value} |" for name, value in {"": "", "---": "---", **rows}.items())
