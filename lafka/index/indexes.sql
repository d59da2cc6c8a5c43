CREATE INDEX IF NOT EXISTS paper_archive ON paper (archive, series);
CREATE INDEX IF NOT EXISTS paper_year ON paper (year) WHERE year IS NOT NULL;
CREATE INDEX IF NOT EXISTS paper_newest ON paper (coalesce(last, ''), id);
CREATE INDEX IF NOT EXISTS futli_host ON futli (host, paper, state);
CREATE INDEX IF NOT EXISTS futli_paper ON futli (paper, host, state);
CREATE INDEX IF NOT EXISTS futli_url ON futli (url, paper);
CREATE INDEX IF NOT EXISTS futli_state ON futli (state, paper)
  WHERE state NOT IN ('held', 'never');
CREATE INDEX IF NOT EXISTS futli_lost ON futli (lost_since) WHERE lost_since IS NOT NULL;
CREATE INDEX IF NOT EXISTS fut_digest ON fut (digest);
CREATE INDEX IF NOT EXISTS fut_url ON fut (url);
