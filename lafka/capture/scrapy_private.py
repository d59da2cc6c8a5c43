"""Names of Scrapy that are not its public interface: all of Lafka reaches them through here.

``tests/capture/test_scrapy_private.py`` holds each to its parameters, so that the run against the
next Scrapy names what broke. There is no public way to any of them in Scrapy 2.19.
"""

from scrapy.core.downloader._idna_patch import (
    _install_twisted_idna_fallbacks as install_idna_fallbacks,
)
from scrapy.core.downloader.contextfactory import (
    _load_context_factory_from_settings as load_context_factory,
)
from scrapy.utils._download_handlers import (
    check_stop_download,
    get_dataloss_msg,
    get_maxsize_msg,
    get_warnsize_msg,
    make_response,
    wrap_twisted_exceptions,
)
from scrapy.utils.ssl import _log_ssl_conn_debug_info as log_tls_connection

__all__ = [
    "check_stop_download",
    "get_dataloss_msg",
    "get_maxsize_msg",
    "get_warnsize_msg",
    "install_idna_fallbacks",
    "load_context_factory",
    "log_tls_connection",
    "make_response",
    "wrap_twisted_exceptions",
]
