"""What is learned: the data, the grammar and the semantics of each task.

Read first: `hwf`, the smaller one; its `__init__.py` is a map. A new task is a new folder that no other
layer has to know.

    hwf            handwritten formulas, learned from their values
    clevr          questions about scenes, learned from their answers
    pictures       pictures of scenes: rendering them, and seeing the objects in them
    report         what a task tells about a run on its page
    source.py      where the data of a task come from, and how they are divided
    image_file.py  an image file from anywhere, decoded safely
    json_list.py   a long list in a JSON file, element by element
    faults.py      how messages show what is wrong with data

Methods and search do not belong here: a task gives `learning` its examples, its reasoner and its network.
"""
