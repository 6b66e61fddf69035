"""Questions about scenes (CLEVR; Li et al. 2020, Sec. 4.2): programs learned from answers.

Read first: `program.py`, what a program is; `semantics.py`, what it means; `examples.py`, how questions
become examples.

    trainable.py          the task, as the rest of the package sees it
    settings.py           the settings of a run, an option for each
    preparation.py        a run with its data and its network
    program.py            modules in prefix notation, their grammars, and the kinds of question
    language.py           which module may come next, for a batch with known modules
    noun_phrases.py       which filters describe what, the edits, and which programs mean the same
    scenes.py             objects with attributes and positions
    semantics.py          what each module means for a scene
    execution.py          the value of one program on one scene: the reference
    batched_execution.py  the same for a batch of tensors
    cues.py               the words of a question, the phrases that the dictionary knows, noun phrases
    dictionary.py         from the words of a question to the multiset of its modules
    examples.py           questions as examples, and their reasoner
    dataset.py            questions and scenes in compact arrays
    embedded.py           data that need no download
    scene_sampling.py     random scenes by CLEVR's rules
    question_sampling.py  random questions of nine kinds, with programs and answers
    question_phrases.py   their noun phrases, with programs, and the objects that these denote in a scene
    question_places.py    where noun phrases may be put in a question, and which answers are due
    question_wording.py   questions in words
    official.py           the official files, read as a stream
    official_program.py   programs as these files write them
    official_scene.py     scenes as these files write them
    packed.py             a data set in one file; or the embedded one
    packed_scenes.py      scenes as tensors and back
    inspection.py         what a data set holds
    reading.py            one question read by a trained network
    correction.py         back-search for one question, step by step
    explanation.py        programs and corrections in words and as pictures
    program_text.py       programs in words, with the value of every step
    scores.py             answers and programs right, by kind and length
    scene_drawing.py      scenes from above, drawn for a page
    paper                 the paper's table and figures of questions, and experiments beside them
    asking_commands.py    ngs ask and explain
    data_commands.py      ngs data import and inspect
    report                what is shown of a run: its questions with their scenes and programs
    playground            what `ngs serve` shows: questions answered, programs corrected
    data                  grammars, the dictionary, and the wording of questions
"""
