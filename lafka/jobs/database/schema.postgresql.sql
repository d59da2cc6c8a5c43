-- Tables of ingest results. ingest_fileset_platform is that of the proposal "Dataset Ingest of
-- Filesets", its checks on the columns they stand at; the others are those that sandcrawler has.

CREATE TABLE IF NOT EXISTS ingest_request (
    link_source             TEXT NOT NULL CHECK (octet_length(link_source) >= 1),
    link_source_id          TEXT NOT NULL CHECK (octet_length(link_source_id) >= 1),
    ingest_type             TEXT NOT NULL CHECK (octet_length(ingest_type) >= 1),
    base_url                TEXT NOT NULL CHECK (octet_length(base_url) >= 1),
    ingest_request_source   TEXT CHECK (octet_length(ingest_request_source) >= 1),
    created                 TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    release_stage           TEXT CHECK (octet_length(release_stage) >= 1),
    request                 JSONB,
    PRIMARY KEY (link_source, link_source_id, ingest_type, base_url)
);
CREATE INDEX IF NOT EXISTS ingest_request_base_url_idx ON ingest_request(base_url, ingest_type);

CREATE TABLE IF NOT EXISTS ingest_file_result (
    ingest_type             TEXT NOT NULL CHECK (octet_length(ingest_type) >= 1),
    base_url                TEXT NOT NULL CHECK (octet_length(base_url) >= 1),
    updated                 TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    hit                     BOOLEAN NOT NULL,
    status                  TEXT CHECK (octet_length(status) >= 1),
    terminal_url            TEXT CHECK (octet_length(terminal_url) >= 1),
    terminal_dt             TEXT CHECK (octet_length(terminal_dt) = 14),
    terminal_status_code    INT,
    terminal_sha1hex        TEXT CHECK (octet_length(terminal_sha1hex) = 40),
    PRIMARY KEY (ingest_type, base_url)
);
CREATE INDEX IF NOT EXISTS ingest_file_result_terminal_url_idx ON ingest_file_result(terminal_url);
CREATE INDEX IF NOT EXISTS ingest_file_result_terminal_sha1hex_idx
    ON ingest_file_result(terminal_sha1hex);

CREATE TABLE IF NOT EXISTS ingest_fileset_platform (
    ingest_type             TEXT NOT NULL CHECK (octet_length(ingest_type) >= 1),
    base_url                TEXT NOT NULL CHECK (octet_length(base_url) >= 1),
    updated                 TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    hit                     BOOLEAN NOT NULL,
    status                  TEXT CHECK (octet_length(status) >= 1),
    platform_name           TEXT NOT NULL CHECK (octet_length(platform_name) >= 1),
    platform_domain         TEXT NOT NULL CHECK (octet_length(platform_domain) >= 1),
    platform_id             TEXT NOT NULL CHECK (octet_length(platform_id) >= 1),
    ingest_strategy         TEXT CHECK (octet_length(ingest_strategy) >= 1),
    total_size              BIGINT,
    file_count              INT,
    archiveorg_item_name    TEXT CHECK (octet_length(archiveorg_item_name) >= 1),
    archiveorg_item_bundle_path TEXT CHECK (octet_length(archiveorg_item_bundle_path) >= 1),
    web_bundle_url          TEXT CHECK (octet_length(web_bundle_url) >= 1),
    web_bundle_dt           TEXT CHECK (octet_length(web_bundle_dt) = 14),
    manifest                JSONB,
    PRIMARY KEY (ingest_type, base_url)
);
CREATE INDEX IF NOT EXISTS ingest_fileset_platform_name_domain_id_idx
    ON ingest_fileset_platform(platform_name, platform_domain, platform_id);

CREATE TABLE IF NOT EXISTS file_meta (
    sha1hex                 TEXT PRIMARY KEY CHECK (octet_length(sha1hex) = 40),
    sha256hex               TEXT CHECK (octet_length(sha256hex) = 64),
    md5hex                  TEXT CHECK (octet_length(md5hex) = 32),
    size_bytes              BIGINT,
    mimetype                TEXT CHECK (octet_length(mimetype) >= 1)
);
CREATE INDEX IF NOT EXISTS file_meta_md5hex_idx ON file_meta(md5hex);

CREATE TABLE IF NOT EXISTS cdx (
    url                     TEXT NOT NULL CHECK (octet_length(url) >= 1),
    datetime                TEXT NOT NULL CHECK (octet_length(datetime) = 14),
    sha1hex                 TEXT NOT NULL CHECK (octet_length(sha1hex) = 40),
    cdx_sha1hex             TEXT CHECK (octet_length(cdx_sha1hex) = 40),
    mimetype                TEXT CHECK (octet_length(mimetype) >= 1),
    warc_path               TEXT CHECK (octet_length(warc_path) >= 1),
    warc_csize              BIGINT,
    warc_offset             BIGINT,
    row_created             TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (url, datetime)
);
CREATE INDEX IF NOT EXISTS cdx_sha1hex_idx ON cdx(sha1hex);
CREATE INDEX IF NOT EXISTS cdx_row_created_idx ON cdx(row_created);
