"""Every setting that Lafka has or changes; Scrapy's default stands beside what is changed.

Change them as any Scrapy setting: here, with ``-s NAME=value``, or in scrapyd's schedule.json; the
environment and files called ``scrapy.cfg`` change Lafka's own, too (``lafka.runs.sources``).
docs/reference.md lists Lafka's own with what reads them.
"""

from typing import Any

from lafka.runs.sources import values

BOT_NAME = "lafka"
SPIDER_MODULES = ["lafka.spiders"]
NEWSPIDER_MODULE = "lafka.spiders"
SPIDER_LOADER_CLASS = "lafka.spiders.loading.LoaderByName"
COMMANDS_MODULE = "lafka.cli.commands"

# Lafka's own --------------------------------------------------------------------------------

LAFKA_ARCHIVE = "archive"
LAFKA_COLLECTION = None  # what the archive is marked with; RePEc for a new one
LAFKA_CONTACT = ""  # an address or page that site owners can turn to; goes into the user agent
LAFKA_LINKS = "ranked"
LAFKA_LINKS_MAX = 50
LAFKA_LOOK_INSIDE = True  # at a fut's first pages, where pypdfium2 is installed
LAFKA_EXCLUDE = None  # a file of pid patterns that are not asked for
LAFKA_KEEP_RAW = False
LAFKA_RAW_SIZE = 1_000_000_000  # bytes after which a raw WARC file is followed by the next
LAFKA_WARC_SETTINGS = None  # a scrapy-warcio settings.yml
LAFKA_MAX_PAYLOAD = 4 * 1024**3  # bytes; bigger ones are cut, WARC-Truncated: length
LAFKA_SPOOL_DIR = None  # where big answers wait to be recorded; None is the archive's raw/
LAFKA_STALL_TIMEOUT = 60.0  # seconds without a byte
LAFKA_MIN_RATE = 100.0  # bytes a second, over five stall timeouts
LAFKA_WRITERS = 4  # threads that sync what is stored; four fill a quiet disk
LAFKA_TRAILS_MAX = 500  # trails in progress; each costs some kilobytes
LAFKA_TLS_STRICT = False  # bad certificates are taken, and the verdict noted in the WARC
LAFKA_ALLOWED_NETWORKS: list[str] = []  # beyond the public ones; ["127.0.0.0/8"] for loopback
LAFKA_RETRY_AFTER_MAX = 3600.0  # seconds a host can ask us to wait
LAFKA_HOST_FAILURES_MAX = 20  # failures in a row after which a host is set aside for the run
LAFKA_MACHINE_FAILURES_MAX = 5  # hosts in a row, none of which answers, for no reason of a site
LAFKA_GATE = None  # postgresql://HOST/NAME: what keeps crawls from asking one host side by side
LAFKA_GATE_PATIENCE = 60.0  # seconds without it after which the crawl stops
LAFKA_CRAWL_DELAY_MAX = 60.0  # seconds of Crawl-delay in a robots.txt that are honoured
LAFKA_PROGRESS_INTERVAL = 30.0  # seconds between progress lines
LAFKA_METRICS = ""  # 127.0.0.1:9410: where Prometheus asks
LAFKA_SHUTDOWN_TIMEOUT = 30.0  # seconds from a signal to the end of the crawl, at the latest
LAFKA_WAYBACK: list[str] = []  # WARCs, folders, indexes that answer in the network's place
LAFKA_WAYBACK_TIME = None  # the captures nearest to it answer; None: the newest
LAFKA_WAYBACK_MISS = "error"  # what is not archived; "network": is asked for
LAFKA_OBJECT_STORE = "archec/archive"  # the obi store; the paper's name is object_store
LAFKA_REDIF_DIRECTORY = "archec/data/current"  # RePEc data; the paper's ReDIF_directory
LAFKA_CACHING_DATABASE = ""  # records.sqlite in the store; or mongodb://host:port/name
LAFKA_DATABASE = None  # results of filesets: ingest.sqlite in the archive; a path or postgresql://
LAFKA_KAFKA = None  # a file of librdkafka's properties: TLS, SASL
LAFKA_KAFKA_PREFIX = "sandcrawler"  # of topics and groups
LAFKA_KAFKA_ENV = "dev"
LAFKA_WORKER = None  # a fleet's name for this worker; None: host name and the archive's folder
LAFKA_FLEET_PATIENCE = 600.0  # seconds without Kafka after which a fleet's crawl stops
LAFKA_KAFKA_WINDOW = 100  # requests of a topic that are begun or wait
LAFKA_LOSS_SHARE = 0.2  # of an archive's tobis; if more are gone at once, that is not believed yet
LAFKA_LOSS_DAYS = 30  # days after which it is
LAFKA_WEB_HOSTS: list[str] = []  # names by which the pages are asked, beside loopback's
LAFKA_WEB_ORIGIN = ""  # how browsers reach our pages, where not by their port
LAFKA_WEB_REPLAY_ORIGIN = ""  # how browsers reach the second origin, where not by its port
LAFKA_WEB_REPLAYWEB = None  # a folder with ReplayWeb.page unpacked, for a third origin
LAFKA_WEB_REPLAYWEB_ORIGIN = ""  # how browsers reach that, where not by its port
LAFKA_WEB_WITHHELD = None  # a file of pids and patterns whose bytes are not given out
LAFKA_WEB_CONNECTIONS = 200  # open at once to the web pages; others get 503
LAFKA_INDEX = None  # a folder for the index; None is index/ in the archive's root
LAFKA_REFRESH_MIN = 30.0  # days between two visits of a fobi that changes always
LAFKA_REFRESH_MAX = 365.0  # and of one that never does
LAFKA_FILESET_MAX_TOTAL = "64Gi"  # bytes of a fileset; more is too-large-size
LAFKA_FILESET_MAX_FILES = 200  # of a fileset; more is too-many-files
LAFKA_FILESET_MAX_FILE = "64Gi"  # bytes of one file; more is too-large-file
LAFKA_FILESET_KEEP_FREE = "1Gi"  # bytes of disk that stay free; else no-space
LAFKA_WEB_MAX_FILE = "128Mi"  # bytes of a file that goes to the WARC; bigger ones to an item
LAFKA_WEB_MAX_TOTAL = "1Gi"  # bytes of a fileset that goes to the WARC
LAFKA_WEB_MAX_FILES = 20  # files of a fileset that goes to the WARC
LAFKA_FILESET_BUNDLE = "missing"  # when a bundle is taken; many: where files are many; never
LAFKA_FILESET_TRIES = 5  # requests for a file without a further byte
LAFKA_FILESET_LATEST = False  # the newest version where a URL names none
LAFKA_FILESET_PARTIAL = False  # open files are archived where others are restricted
LAFKA_FILESET_RESTRICTED = False  # restricted files are asked for with a token of theirs
LAFKA_FILESET_WEB = True  # pages of no known platform that declare their files
# Of API and files of a known platform robots.txt is not asked: it closes them to crawlers of pages.
LAFKA_FILESET_ROBOTS = "pages"  # all: it binds there, too
LAFKA_FILESET_TYPES = ["dataset"]  # ingest types that are done
LAFKA_FILESET_BLOCKLIST = None  # a file of regular expressions, one a line
LAFKA_FILESETS_MAX = 20  # filesets side by side
LAFKA_LANDING_MAX = "128Mi"  # bytes of a landing page
LAFKA_ITEMS = None  # the folder of items, or s3://BUCKET/PREFIX; None: items/ in the archive
LAFKA_ITEM_COLLECTION = "datasets"  # what item.json names as the item's collection
LAFKA_INVENIO_HOSTS: list[str] = []  # of InvenioRDM; others are found by their API
LAFKA_PLATFORM_BASES: dict[str, str] = {}  # host -> base URL that is asked instead
LAFKA_TOKENS = None  # a JSON file, mode 0600: host -> {"header": .., "value": ..}

# Polite -------------------------------------------------------------------------------------

ROBOTSTXT_OBEY = True  # False
AUTOTHROTTLE_ENABLED = True  # False
AUTOTHROTTLE_START_DELAY = 1.0  # 5.0; a list has many hosts with one paper each
CONCURRENT_REQUESTS = 100  # 16; places for hosts, which those do not keep that keep us waiting
CONCURRENT_REQUESTS_PER_DOMAIN = 1  # 8
DEFAULT_REQUEST_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8",
    "Accept-Language": "en",
    # A coded body has to be converted before its fut can be pointed at.
    "Accept-Encoding": "identity",
}

# Trails -------------------------------------------------------------------------------------

DOWNLOAD_HANDLERS: dict[str, str | None] = {
    "http": "lafka.capture.handler.ExactDownloadHandler",
    "https": "lafka.capture.handler.ExactDownloadHandler",
    # A page that links to file:///etc/passwd must not have it archived.
    "data": None,
    "file": None,
    "ftp": None,
    "s3": None,
}
DOWNLOADER_MIDDLEWARES: dict[str, int | None] = {
    # What has nothing to do here is off: each costs every request some microseconds.
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "lafka.politeness.RobotsMiddleware": 100,
    "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
    "lafka.politeness.RetryAfterMiddleware": 550,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "lafka.politeness.TrailRefreshMiddleware": 580,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": None,
    "lafka.capture.middlewares.ContentCodingMiddleware": 590,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    "lafka.politeness.TrailRedirectMiddleware": 600,
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
    "lafka.politeness.TrailCookiesMiddleware": 700,
    "lafka.capture.middlewares.RawWarcMiddleware": 950,
    "lafka.capture.legacy.LegacyMiddleware": 955,  # off without -a legacy=URL
    "lafka.capture.replay.WarcDownloaderMiddleware": 960,  # off without LAFKA_WAYBACK
}
ITEM_PIPELINES = {  # each for the spider that has its store
    "lafka.pipelines.PaperWarcPipeline": 300,
    "lafka.pipelines.ObiStorePipeline": 300,
    "lafka.pipelines.FilesetPipeline": 300,
}
FEED_STORAGES = {"lafka": "lafka.runs.feed.OutcomeFeedStorage"}
FEED_EXPORTERS = {"csv": "lafka.runs.feed.CsvExporter"}
EXTENSIONS: dict[str, int | None] = {  # and lafka.runs.metrics.MetricsServer with LAFKA_METRICS
    "lafka.politeness.HostDelays": 500,  # behind AutoThrottle, whose delays it raises
    "lafka.runs.reporting.RunReports": -100,  # before the feed is opened
    "lafka.runs.progress.TrailStats": 0,
    "lafka.runs.live.LiveLine": -50,  # before what logs at the start; off without a terminal
    "lafka.runs.progress.Progress": 0,
    "lafka.runs.progress.ContactCheck": 0,
    "lafka.runs.exits.LastItems": 0,
}
SCHEDULER_PRIORITY_QUEUE = "lafka.politeness.HostQueue"
# scrapy.core.downloader.Downloader, in which hosts that drip take all places.
DOWNLOADER = "lafka.capture.downloader.SharedDownloader"
DUPEFILTER_CLASS = "scrapy.dupefilters.BaseDupeFilter"  # RFPDupeFilter; trails share no URLs
RETRY_GIVE_UP_LOG_LEVEL = "INFO"  # ERROR; it ends as the line's outcome
RETRY_PRIORITY_ADJUST = 1  # -1, which puts retries behind new starts
REDIRECT_MAX_TIMES = 10  # 20
METAREFRESH_MAXDELAY = 5  # 100; longer ones keep a session alive, they lead nowhere
URLLENGTH_LIMIT = 0  # 2083, over which a line would be dropped in silence
DOWNLOAD_TIMEOUT = 3600  # 180; the stall timeout ends what does not move
DOWNLOAD_MAXSIZE = 0  # 1 GiB; LAFKA_MAX_PAYLOAD cuts instead of throwing away
DOWNLOAD_WARNSIZE = 0  # 32 MiB
SCRAPER_SLOT_MAX_ACTIVE_SIZE = 50_000_000  # 5 MB
CONCURRENT_ITEMS = 1  # 100 tasks a response, which has at most one request or item here
WARN_ON_GENERATOR_RETURN_VALUE = False  # True, which parses the sources of callbacks
SPIDER_MIDDLEWARES: dict[str, Any] = {
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,  # a stat for each depth
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,  # all are allowed
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,  # we copy none
}

# IPv6 ---------------------------------------------------------------------------------------

# scrapy.resolver.CachingThreadedResolver, which knows no IPv6: hosts without IPv4 cannot be asked.
TWISTED_DNS_RESOLVER = "lafka.capture.resolving.NameResolver"

# Off ----------------------------------------------------------------------------------------

TELNETCONSOLE_ENABLED = False  # True
REMOTE_CONTROL_ENABLED = False  # True; it runs Python that is posted to it
COOKIES_DEBUG = False
LOG_LEVEL = "INFO"  # DEBUG, which has a line for each request

# From outside -------------------------------------------------------------------------------

globals().update(values(globals()))
