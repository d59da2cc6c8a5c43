"""Reports on an archive: numbers from its index, never from its WARCs.

``tables``       a table of a report, the span that it is of, the counts that several tables need
``questions``    one function a table of the archive as a whole
``rot``          links that are lost, the survival curve (Kaplan and Meier), what maintainers mend
``report``       the tables of a report, in order, and its forms; the list of links to recheck
``maintainers``  a letter, a feed, and what is not as in an earlier report
``rendering``    a report as CSV, as JSON, as HTML in one file, and for a terminal
``obi_report``   the report on an obi store, in the same forms
``plots``        tables -> SVG, by Altair: the extra ``lafka[report]``
"""
