"""Reports: plans and observations as text, pictures and HTML pages.

``plan_text``, ``plan_svg`` and ``plan_html`` show a plan. ``proof_page`` and ``batch_page`` show observations,
``compare_page`` compares two: each is one HTML file that needs no network. ``conclusion`` finds what bounds a proof,
``charts`` draws the charts (bokeh), and ``page_parts`` has the HTML that both pages share.
`graphprover.runtime.display` has tables and colours.
"""
