"""Reports on an archive: numbers from its index, never from its WARCs.

``tables``       a table of a report, and the span that it is of: what all forms render
``questions``    one function a table of the archive as a whole
``counting``     counts that several tables need, made once
``rot``          tables of links that are lost, and the survival curve (Kaplan and Meier)
``maintainers``  links that the maintainer of an archive can mend; CitEc's word for each outcome
``report``       the tables of a report, in order
``rendering``    a report as CSV, as JSON, and for a terminal; ``html``: one file, without script
``writing``      a report in the format of its output, and the list of links to recheck
``obi_report``   the report on an obi store, in the same forms
``plots``        tables -> SVG, by Altair: the extra ``lafka[report]``
"""
