"""Pictures of scenes: rendered or imported, and a network that sees the objects in them.

Read first: `pictures.py`, the data in memory; then `scene_network.py` and `scene_loss.py`, how objects are
seen.

    trainable.py             the task, as the rest of the package sees it
    settings.py              the settings of a run, an option for each
    preparation.py           a run with its data and its network
    pictures.py              images, and what is true of each; a data set of them
    picture_examples.py      pictures as examples for the training loop, also in a mirror
    picture_folder.py        a folder of CLEVR images with their scenes
    picture_packed.py        pictures in one file
    picture_file.py          one picture from a file, checked
    picture_augmentation.py  the same scene in another light
    picture_drawing.py       boxes drawn around the objects that were seen
    rendered_pictures.py     pictures of sampled scenes, rendered from a seed
    rendering                the renderer: camera rays, solids, surfaces, lamps
    camera.py                from places in a scene to pixels, and back
    scene_network.py         a convolutional network from a picture to maps of objects
    scene_loss.py            the loss of these maps
    seen_scene.py            objects from the peaks of the maps, and their scene
    scene_scores.py          how well scenes are seen
    seen_questions.py        questions answered from pixels
    weights.py               what a run learned, in one file to give away
    seeing_commands.py       ngs see, quiz and weights
    data_commands.py         ngs data import, inspect and render
    report                   what is shown of a run: its pictures, with frames around mistakes

What scenes and questions are is in `ngs.tasks.clevr`.
"""
