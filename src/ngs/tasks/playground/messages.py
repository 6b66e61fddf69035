"""Parts of requests and answers: JSON objects whose fields the API describes."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]


class Message(BaseModel):
    """A JSON object without other fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def part(description: str, *examples: Any, **limits: Any) -> Any:
    """A field of a message."""
    return Field(description=description, examples=list(examples) or None, **limits)
