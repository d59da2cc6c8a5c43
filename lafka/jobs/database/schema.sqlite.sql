-- The tables of schema.postgresql.sql as SQLite has them: lengths in bytes by CAST, since SQLite
-- before 3.43 has no octet_length; JSON is text that is valid; times are texts in UTC.

CREATE TABLE IF NOT EXISTS ingest_request (
    link_source             TEXT NOT NULL CHECK (length(CAST(link_source AS BLOB)) >= 1),
    link_source_id          TEXT NOT NULL CHECK (length(CAST(link_source_id AS BLOB)) >= 1),
    ingest_type             TEXT NOT NULL CHECK (length(CAST(ingest_type AS BLOB)) >= 1),
    base_url                TEXT NOT NULL CHECK (length(CAST(base_url AS BLOB)) >= 1),
    ingest_request_source   TEXT CHECK (length(CAST(ingest_request_source AS BLOB)) >= 1),
    created                 TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    release_stage           TEXT CHECK (length(CAST(release_stage AS BLOB)) >= 1),
    request                 TEXT CHECK (request IS NULL OR json_valid(request)),
    PRIMARY KEY (link_source, link_source_id, ingest_type, base_url)
);
CREATE INDEX IF NOT EXISTS ingest_request_base_url_idx ON ingest_request(base_url, ingest_type);

CREATE TABLE IF NOT EXISTS ingest_file_result (
    ingest_type             TEXT NOT NULL CHECK (length(CAST(ingest_type AS BLOB)) >= 1),
    base_url                TEXT NOT NULL CHECK (length(CAST(base_url AS BLOB)) >= 1),
    updated                 TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    hit                     INTEGER NOT NULL CHECK (hit IN (0, 1)),
    status                  TEXT CHECK (length(CAST(status AS BLOB)) >= 1),
    terminal_url            TEXT CHECK (length(CAST(terminal_url AS BLOB)) >= 1),
    terminal_dt             TEXT CHECK (length(CAST(terminal_dt AS BLOB)) = 14),
    terminal_status_code    INTEGER,
    terminal_sha1hex        TEXT CHECK (length(CAST(terminal_sha1hex AS BLOB)) = 40),
    PRIMARY KEY (ingest_type, base_url)
);
CREATE INDEX IF NOT EXISTS ingest_file_result_terminal_url_idx ON ingest_file_result(terminal_url);
CREATE INDEX IF NOT EXISTS ingest_file_result_terminal_sha1hex_idx
    ON ingest_file_result(terminal_sha1hex);

CREATE TABLE IF NOT EXISTS ingest_fileset_platform (
    ingest_type             TEXT NOT NULL CHECK (length(CAST(ingest_type AS BLOB)) >= 1),
    base_url                TEXT NOT NULL CHECK (length(CAST(base_url AS BLOB)) >= 1),
    updated                 TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    hit                     INTEGER NOT NULL CHECK (hit IN (0, 1)),
    status                  TEXT CHECK (length(CAST(status AS BLOB)) >= 1),
    platform_name           TEXT NOT NULL CHECK (length(CAST(platform_name AS BLOB)) >= 1),
    platform_domain         TEXT NOT NULL CHECK (length(CAST(platform_domain AS BLOB)) >= 1),
    platform_id             TEXT NOT NULL CHECK (length(CAST(platform_id AS BLOB)) >= 1),
    ingest_strategy         TEXT CHECK (length(CAST(ingest_strategy AS BLOB)) >= 1),
    total_size              INTEGER,
    file_count              INTEGER,
    archiveorg_item_name    TEXT CHECK (length(CAST(archiveorg_item_name AS BLOB)) >= 1),
    archiveorg_item_bundle_path TEXT CHECK (length(CAST(archiveorg_item_bundle_path AS BLOB)) >= 1),
    web_bundle_url          TEXT CHECK (length(CAST(web_bundle_url AS BLOB)) >= 1),
    web_bundle_dt           TEXT CHECK (length(CAST(web_bundle_dt AS BLOB)) = 14),
    manifest                TEXT CHECK (manifest IS NULL OR json_valid(manifest)),
    PRIMARY KEY (ingest_type, base_url)
);
CREATE INDEX IF NOT EXISTS ingest_fileset_platform_name_domain_id_idx
    ON ingest_fileset_platform(platform_name, platform_domain, platform_id);

CREATE TABLE IF NOT EXISTS file_meta (
    sha1hex                 TEXT PRIMARY KEY CHECK (length(CAST(sha1hex AS BLOB)) = 40),
    sha256hex               TEXT CHECK (length(CAST(sha256hex AS BLOB)) = 64),
    md5hex                  TEXT CHECK (length(CAST(md5hex AS BLOB)) = 32),
    size_bytes              INTEGER,
    mimetype                TEXT CHECK (length(CAST(mimetype AS BLOB)) >= 1)
);
CREATE INDEX IF NOT EXISTS file_meta_md5hex_idx ON file_meta(md5hex);

CREATE TABLE IF NOT EXISTS cdx (
    url                     TEXT NOT NULL CHECK (length(CAST(url AS BLOB)) >= 1),
    datetime                TEXT NOT NULL CHECK (length(CAST(datetime AS BLOB)) = 14),
    sha1hex                 TEXT NOT NULL CHECK (length(CAST(sha1hex AS BLOB)) = 40),
    cdx_sha1hex             TEXT CHECK (length(CAST(cdx_sha1hex AS BLOB)) = 40),
    mimetype                TEXT CHECK (length(CAST(mimetype AS BLOB)) >= 1),
    warc_path               TEXT CHECK (length(CAST(warc_path AS BLOB)) >= 1),
    warc_csize              INTEGER,
    warc_offset             INTEGER,
    row_created             TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    PRIMARY KEY (url, datetime)
);
CREATE INDEX IF NOT EXISTS cdx_sha1hex_idx ON cdx(sha1hex);
CREATE INDEX IF NOT EXISTS cdx_row_created_idx ON cdx(row_created);
