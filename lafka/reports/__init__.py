"""What is told of an archive: numbers from its index, never from its WARCs.

``told``         a table of a report, and the span that it is of: what all forms render
``questions``    one function a table of the archive as a whole
``counting``     what several tables ask, counted once
``rot``          tables of links that are lost, and the survival curve
``maintainers``  what the maintainer of an archive can mend; CitEc's word for each outcome
``survival``     Kaplan and Meier's estimate; pure
``recheck``      the list of links that were not asked for long
``whole``        the tables of a report, in order
``render_text``  a terminal's few lines
``render_html``  one file, without script
``render_csv``   one table, which no spreadsheet executes
``render_json``  everything
``plots``        tables -> SVG, by Altair: the extra ``lafka[report]``
"""
