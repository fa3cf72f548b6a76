"""Pages of what was seen while proofs were made, each one file that needs no network.

In this order: ``conclusion`` says what bounds a proof, ``charts`` draws what is to be zoomed (bokeh), and ``proof`` and
``batch`` put them on a page.
"""
