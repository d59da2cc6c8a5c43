"""Keep the crawl polite: Scrapy components, one subject a module.

``robots`` asks robots.txt first; ``retries`` waits as long as a host asks to and sets dead hosts
aside; ``queue`` is the scheduler's queue, in which waiting hosts take no places; ``redirects``
moves each hop to its own host's slot and names loops; ``delays`` keeps a host's own delay;
``cookies`` keeps one jar a trail; ``canary`` tells a machine without network from dead hosts. They
meet in ``hosts`` (who is parked, who is set aside) and judge nothing about papers. ``gate``, with
``courier`` and ``claims``, keeps crawls from asking a host side by side, where one is set.
"""

from lafka.politeness.cookies import TrailCookiesMiddleware
from lafka.politeness.failures import is_bad_http, is_connection_failure, is_tls
from lafka.politeness.hosts import HostDelays
from lafka.politeness.queue import HostQueue
from lafka.politeness.redirects import (
    RedirectLoop,
    TrailRedirectMiddleware,
    TrailRefreshMiddleware,
)
from lafka.politeness.retries import HostSetAside, RetryAfterMiddleware
from lafka.politeness.robots import RobotsForbidden, RobotsMiddleware, RobotsUnreachable

__all__ = [
    "HostDelays",
    "HostQueue",
    "HostSetAside",
    "RedirectLoop",
    "RetryAfterMiddleware",
    "RobotsForbidden",
    "RobotsMiddleware",
    "RobotsUnreachable",
    "TrailCookiesMiddleware",
    "TrailRedirectMiddleware",
    "TrailRefreshMiddleware",
    "is_bad_http",
    "is_connection_failure",
    "is_tls",
]
