"""The parts of a run's page that depend on the task: words, sections and templates.

    sections.py   a section, its templates, and numbers as text
    readings.py   a network's readings of examples, compared with labels
    searches.py   the corrections of wrong answers by 1-BS and m-BS, and which are spurious
    report.py     shares with intervals; the report of any task, and of any that is learned from answers

`report.AnswersReport` works for any task with a grammar and answers. A task with more to show makes a
subclass in a folder of its own, where a template replaces the general one of the same name:

    supervision.html, remark.html    above and below the headline
    accuracy.html                    tables of shares
    mistakes.html, corrections.html  cards under headings, each by card.html
"""
