CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE folder (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, mtime_ns INTEGER NOT NULL,
  ino INTEGER NOT NULL) STRICT;
CREATE TABLE run (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, state TEXT, reason TEXT,
  started TEXT, finished TEXT, host TEXT, list TEXT, lines INTEGER, requests INTEGER, new INTEGER,
  held INTEGER, bytes INTEGER, seconds REAL, legacy INTEGER NOT NULL DEFAULT 0,
  feed_offset INTEGER NOT NULL DEFAULT 0, feed_tail BLOB, report_mtime_ns INTEGER,
  report_size INTEGER) STRICT;
CREATE TABLE host (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE waits (run INTEGER NOT NULL REFERENCES run (id),
  host INTEGER NOT NULL REFERENCES host (id), kind TEXT NOT NULL,
  times INTEGER NOT NULL, longest REAL, time TEXT, why TEXT,
  PRIMARY KEY (run, host, kind)) STRICT, WITHOUT ROWID;
CREATE TABLE paper (id INTEGER PRIMARY KEY, pid TEXT NOT NULL UNIQUE, archive TEXT NOT NULL,
  series TEXT NOT NULL, year INTEGER, title TEXT, title_from TEXT, authors TEXT,
  folder INTEGER REFERENCES folder (id), path TEXT, mtime_ns INTEGER, size INTEGER, ino INTEGER,
  warc_bytes INTEGER, futs INTEGER NOT NULL DEFAULT 0, first TEXT, last TEXT, problem TEXT,
  captured INTEGER, titled INTEGER) STRICT;
CREATE TABLE futli (id INTEGER PRIMARY KEY, paper INTEGER NOT NULL REFERENCES paper (id),
  url TEXT NOT NULL, host INTEGER NOT NULL REFERENCES host (id), open INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL DEFAULT 'never', outcome TEXT, asked TEXT, asks INTEGER NOT NULL DEFAULT 0,
  requests INTEGER NOT NULL DEFAULT 0, first_had TEXT, had TEXT, lost_since TEXT, lost_by TEXT,
  fails INTEGER NOT NULL DEFAULT 0, fails_since TEXT, back_since TEXT,
  final_host INTEGER REFERENCES host (id), secure INTEGER,
  reread INTEGER NOT NULL DEFAULT 0, UNIQUE (paper, url)) STRICT;
CREATE TABLE fut (futli INTEGER NOT NULL REFERENCES futli (id), time TEXT NOT NULL,
  s INTEGER NOT NULL, l INTEGER NOT NULL, digest BLOB NOT NULL, url TEXT NOT NULL,
  found_by TEXT, label TEXT,
  PRIMARY KEY (futli, time)) STRICT, WITHOUT ROWID;
CREATE TABLE asked (futli INTEGER NOT NULL REFERENCES futli (id), time TEXT NOT NULL,
  run INTEGER NOT NULL REFERENCES run (id), outcome TEXT NOT NULL, times INTEGER NOT NULL,
  until TEXT NOT NULL, last_run INTEGER NOT NULL REFERENCES run (id), requests INTEGER NOT NULL,
  new INTEGER NOT NULL, digests INTEGER NOT NULL, found_by TEXT, landing TEXT, tried INTEGER,
  first_right INTEGER, capped INTEGER, error TEXT, steps TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (futli, time, run)) STRICT, WITHOUT ROWID;
CREATE TABLE event (futli INTEGER NOT NULL REFERENCES futli (id), time TEXT NOT NULL,
  kind TEXT NOT NULL, outcome TEXT NOT NULL, had TEXT NOT NULL,
  PRIMARY KEY (futli, time, kind)) STRICT, WITHOUT ROWID;
CREATE TABLE daily (day TEXT NOT NULL, run INTEGER NOT NULL REFERENCES run (id),
  host INTEGER NOT NULL REFERENCES host (id), archive TEXT NOT NULL, outcome TEXT NOT NULL,
  lines INTEGER NOT NULL, held INTEGER NOT NULL, requests INTEGER NOT NULL, new INTEGER NOT NULL,
  bytes INTEGER NOT NULL, PRIMARY KEY (day, run, host, archive, outcome)) STRICT, WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5 (pid, title, authors, url,
  tokenize = 'unicode61 remove_diacritics 2');
CREATE INDEX paper_folder ON paper (folder) WHERE folder IS NOT NULL;
CREATE INDEX futli_reread ON futli (reread) WHERE reread > 0;
