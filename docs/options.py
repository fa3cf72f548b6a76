"""A hook of MkDocs that writes the table of options into its page; as a script it prints the tables."""

from typing import Any

from graphprover.jobs.machine_options import MACHINE_OPTIONS
from graphprover.jobs.option import Option
from graphprover.jobs.options import OPTIONS, in_keys

MARK = "<!-- options -->"


def on_page_markdown(markdown: str, **of_page: Any) -> str:
    """Replace the mark of a page by the tables."""
    return markdown.replace(MARK, tables()) if MARK in markdown else markdown


def tables() -> str:
    """Return a section with a table for each group of options."""
    parts = []
    options = (*OPTIONS, *MACHINE_OPTIONS)
    for group in dict.fromkeys(option.group for option in options):
        rows = [_row(option) for option in options if option.group == group]
        head = "| option | values | default | who takes it | effect |\n|---|---|---|---|---|\n"
        parts.append(f"## {group.capitalize()}\n\n{head}" + "\n".join(rows))
    return "\n\n".join(parts)


def _row(option: Option) -> str:
    only = "Guests only. " * option.guests
    default = "false" if option.default is False else in_keys(option.usual) or "none"
    where = ", ".join(f"`{name}`" for name in option.where)
    return f"| `{option.name}` | {option.values.words} | {default} | {where} | {only}{in_keys(option.help)} |"


if __name__ == "__main__":
    print(tables())
