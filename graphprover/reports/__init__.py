"""Reports: plans and observations as text, pictures, HTML pages, notebook output and terminal tables.

``plan_text``, ``plan_svg`` and ``plan_html`` show a plan. ``proof_page`` and ``batch_page`` show observations: each is
one HTML file that needs no network. ``conclusion`` finds what bounds a proof, ``charts`` draws the charts (bokeh), and
``browser`` and ``page_parts`` have the common HTML. ``notebook`` and ``terminal`` draw there.
"""
