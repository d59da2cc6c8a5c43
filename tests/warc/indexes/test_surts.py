"""Keys against the published examples of the Internet Archive's own tools.

``KEYS``, ``ALIKE``: WaybackURLKeyMakerTest, IAURLCanonicalizerTest, BasicURLCanonicalizerTest and
URLRegexTransformerTest of iipc/webarchive-commons (Apache-2.0), surt.json of iipc/urlcanon
(Apache-2.0), the README of surt on PyPI.
"""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lafka.warc.indexes.surts import Prefix, surt

SESSION = "0123456789abcdefghijklemopqrstuv"
KEYS = {
    "": "-",
    "dskgfljsdlkgjslkj": "dskgfljsdlkgjslkj)/",
    "filedesc:foo.arc.gz": "filedesc:foo.arc.gz",
    "filedesc:/foo.arc.gz": "filedesc:/foo.arc.gz",
    "filedesc://foo.arc.gz": "filedesc://foo.arc.gz",
    "warcinfo:foo.warc.gz": "warcinfo:foo.warc.gz",
    "dns:alexa.com": "dns:alexa.com",
    "dns:archive.org": "dns:archive.org",
    "mailto:foo@example.com": "mailto:foo@example.com",
    "http://www.archive.org/": "org,archive)/",
    "http://archive.org/": "org,archive)/",
    "http://archive.org/goo/": "org,archive)/goo",
    "http://archive.org/goo/?": "org,archive)/goo",
    "http://archive.org/goo/?b&a": "org,archive)/goo?a&b",
    "http://archive.org/goo/?a=2&b&a=1": "org,archive)/goo?a=1&a=2&b",
    "http://archive.org:/": "org,archive)/",
    "ftp://www.example.com/": "com,example)/",
    "whois://whois.isoc.org.il/shaveh.co.il": "il,org,isoc,whois)/shaveh.co.il",
    "http://192.168.1.254/info/": "254,1,168,192)/info",
    "https://34.203.211.192/robots.txt": "192,211,203,34)/robots.txt",
    "http://123.456.78.910/goo/": "910,78,456,123)/goo",
    "http://10.162.1024.3/": "3,1024,162,10)/",
    "http://100.100.100.100.org/": "org,100,100,100,100)/",
    "https://[2600:1f18:200d:fb00:2b74:867c:ab0c:150a]/robots.txt":
        "2600:1f18:200d:fb00:2b74:867c:ab0c:150a)/robots.txt",
    "http://1kr.ua/newslist.html?tag=%E4%EE%F8%EA%EE%EB%FC%ED%EE%E5":
        "ua,1kr)/newslist.html?tag=%e4%ee%f8%ea%ee%eb%fc%ed%ee%e5",
    "http://www.aluroba.com/tags/%C3%CE%CA%C7%D1%E5%C7.htm":
        "com,aluroba)/tags/%c3%ce%ca%c7%d1%e5%c7.htm",
    "http://archive.org/index.php?PHPSESSID=" + SESSION + "&action=profile;u=4221":
        "org,archive)/index.php?action=profile;u=4221",
    "http://visit.webhosting.yahoo.com/visit.gif?&r=http%3A//web.archive.org/web/20090517140029/"
    "http%3A//anthonystewarthead.electric-chi.com/&b=Netscape%205.0%20%28Windows%3B%20en-US%29"
    "&s=1366x768&o=Win32&c=24&j=true&v=1.2":
        "com,yahoo,webhosting,visit)/visit.gif?&b=netscape%205.0%20(windows;%20en-us)&c=24&j=true"
        "&o=win32&r=http://web.archive.org/web/20090517140029/"
        "http://anthonystewarthead.electric-chi.com/&s=1366x768&v=1.2",
    "http://www.nsf.gov/statistics/sed/2009/SED_2009.zip?CFID=14387305&CFTOKEN=72942008"
    "&jsessionid=f030eacc7e49c4ca0b077922347418418766":
        "gov,nsf)/statistics/sed/2009/sed_2009.zip?jsessionid=f030eacc7e49c4ca0b077922347418418766",
    "data:a b": "data:a%20b",
}  # fmt: skip


@pytest.mark.parametrize(("url", "key"), KEYS.items())
def test_published_keys(url: str, key: str) -> None:
    assert surt(url) == key


# Canonical forms that the Archive publishes as URLs: both sides have one key.
ALIKE = {
    "http://www.alexa.com/": "http://alexa.com/",
    "http://archive.org/index.html?": "http://archive.org/index.html",
    "http://archive.org/index.html?b=a&b=b&a=b": "http://archive.org/index.html?a=b&b=a&b=b",
    "http://www34.archive.org/index.html": "http://archive.org/index.html",
    "http://www2.www2foo.com/": "http://www2foo.com/",
    "http://ARCHIVE.ORG/": "http://archive.org/",
    "http://www.archive.org:80/": "http://archive.org/",
    "https://www.archive.org:443/": "https://archive.org/",
    "http://www.archive.org/big/": "http://archive.org/big",
    "http://host/%25%32%35": "http://host/%25",
    "http://host/%25%32%35%25%32%35": "http://host/%25%25",
    "http://host/%2525252525252525": "http://host/%25",
    "http://host/asdf%25%32%35asd": "http://host/asdf%25asd",
    "http://host/%%%25%32%35asd%%": "http://host/%25%25%25asd%25%25",
    "http://%31%36%38%2e%31%38%38%2e%39%39%2e%32%36/%2E%73%65%63%75%72%65/%77%77%77%2E%65%62%61%79"
    "%2E%63%6F%6D/": "http://168.188.99.26/.secure/www.ebay.com/",
    "http://host%23.com/%257Ea%2521b%2540c%2523d%2524e%25f%255E00%252611%252A22%252833%252944_55%25"
    "2B": "http://host%23.com/~a!b@c%23d$e%25f^00&11*22(33)44_55+",
    "http://3279880203/blah": "http://195.127.0.11/blah",
    "http://017.0.0.1/": "http://15.0.0.1/",
    "http://10.0.258/": "http://10.0.1.2/",
    "http://39024579298/": "http://22.11.210.226/",
    "http://www.google.com/blah/..": "http://www.google.com/",
    "www.google.com/": "http://www.google.com/",
    "www.google.com": "http://www.google.com/",
    "http://www.evil.com/blah#frag": "http://www.evil.com/blah",
    "http://evil.com/foo#bar#baz": "http://evil.com/foo",
    "http://www.GOOgle.com/": "http://www.google.com/",
    "http://www.google.com.../": "http://www.google.com/",
    "https://...foo...bar.org.../": "https://foo.bar.org/",
    "http://www.google.com/foo\tbar\rbaz\n2": "http://www.google.com/foobarbaz2",
    "  http://www.google.com/  ": "http://www.google.com/",
    "\nhttp://examp\u2029\t\rle.org/         ": "http://example.org/",
    "http:// leadingspace.com/": "http://%20leadingspace.com/",
    "%20leadingspace.com/": "http://%20leadingspace.com/",
    "http://host.com//twoslashes?more//slashes": "http://host.com/twoslashes?more//slashes",
    "http:////////////////www.vikings.com": "http://www.vikings.com/",
    "http://https://order.1and1.com": "https://order.1and1.com",
    "http://mineral.galleries.com:/minerals/": "http://mineral.galleries.com/minerals/",
    "B\u00fccher.ch:8080": "http://xn--bcher-kva.ch:8080/",
    "\u2603.com": "http://xn--n3h.com/",
    "http://example.org/\u2691": "http://example.org/%E2%9A%91",
    "http://example.org/blah?z\u265fz=z\u4e00z": "http://example.org/blah?z%E2%99%9Fz=z%E4%B8%80z",
    "http://a.example/(S(4hqa0555fwsecu455xqckv45))/mileg.aspx": "http://a.example/mileg.aspx",
    "http://a.example/(4hqa0555fwsecu455xqckv45)/mileg.aspx": "http://a.example/mileg.aspx",
    "http://a.example/(a(4hqa0555fwsecu455xqckv45)S(4hqa0555fwsecu455xqckv45)f(4hqa0555fwsecu455xqc"
    "kv45))/mileg.aspx?page=sessionschedules": "http://a.example/mileg.aspx?page=sessionschedules",
    f"http://a.example/?jsessionid={SESSION}": "http://a.example/",
    f"http://a.example/?jsessionid={SESSION}&x=y": "http://a.example/?x=y",
    f"http://a.example/?one=two&jsessionid={SESSION}&x=y": "http://a.example/?one=two&x=y",
    "http://a.example/?aspsessionidABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&x=y": "http://a.example/?x=y",
    f"http://a.example/?sid=9682993c8daa2c5497996114facdc805&jsessionid={SESSION}":
        "http://a.example/",
    "http://a.example/?CFID=14475712&CFTOKEN=2D89F5AF-3048-2957-DA4EE4B6B13661AB&r=4&m=f":
        "http://a.example/?r=4&m=f",
    "http://user:word@a.example/b": "http://a.example/b",
    f"http://a.example/b;jsessionid={SESSION}?x": "http://a.example/b?x",
    "http://[2001:DB8:0:0::1]/": "http://[2001:db8::1]/",
}  # fmt: skip


@pytest.mark.parametrize(("url", "canonical"), ALIKE.items())
def test_published_canonical_forms(url: str, canonical: str) -> None:
    assert surt(url) == surt(canonical)


DIFFERENT = [
    ("https://www.archive.org:80/", "https://archive.org/"),
    ("http://archive.org:443/", "http://archive.org/"),
    ("http://www2foo.com/", "http://foo.com/"),
    ("http://a.example/photos/36050182@N05/", "http://a.example/photos/"),
    (f"http://a.example/?jsessionid={SESSION}0", "http://a.example/"),
    (f"http://a.example/?mysid={SESSION}", "http://a.example/?my"),
    ("http://host.com/ab%23cd", "http://host.com/ab"),
    ("http://a.example/b/c", "http://a.example/b%2Fd"),
    ("http://1.2.3.256/", "http://1.2.3.0/"),
]


@pytest.mark.parametrize(("url", "other"), DIFFERENT)
def test_what_is_kept_apart(url: str, other: str) -> None:
    assert surt(url) != surt(other)


PIECES = st.sampled_from(
    ["http://", "https:", "ftp://", "//", "/", "..", ".", "?", "&", "=", "#", "%", "%25", "%20",
     "@", ":", "[", "]", "[::1]", "::", "www.", "0x7f", "017", "1", "*.", " ", "\n", "\u2028", "é",
     "☃", "\ud800", "\x00", "a", "A", "jsessionid=", SESSION, "dns:", "urn:", "xn--", ")", ",", ";",
     "data:", "\\", "<", ">", "。"],
)  # fmt: skip
UGLY = st.one_of(
    st.lists(PIECES, max_size=12).map("".join),
    st.text(st.characters(), max_size=40),
    st.text(st.characters(), max_size=20).map("http://a.example/".__add__),
    st.text(st.characters(), max_size=20).map("http://".__add__),
)


@given(UGLY)
def test_a_key_of_anything_is_printable_ascii_without_a_space(url: str) -> None:
    key = surt(url)
    assert re.fullmatch(r"[!-~]+", key)


@given(UGLY)
def test_a_url_begins_with_itself(url: str) -> None:
    assert Prefix.of(url).matches(surt(url), url) or "*." in url


@given(st.lists(st.sampled_from(["a=1", "b", "a=0", "c=%20", "%41", ""]), min_size=1))
def test_the_order_of_parameters_does_not_matter(parameters: list[str]) -> None:
    one = surt("http://a.example/?" + "&".join(parameters))
    other = surt("http://a.example/?" + "&".join(reversed(parameters)))
    assert one == other


def test_urls_made_to_be_slow_take_linear_time() -> None:
    long = 100_000  # quadratic ways take minutes
    assert surt("http://a.example/" + "%25" * long) == "example,a)/" + "%25" * long
    assert surt("http://a.example/?%" + "25" * long) == "example,a)/?%25"
    assert surt("http://a.example/" + "b/../" * long) == "example,a)/"
    assert surt("http://a.example/?" + "a=1&" * long) == "example,a)/?" + "&a=1" * long
    assert surt("http:" + "http://" * long + "a.example") == "example,a)/"
    assert surt("http://" + "9" * long) == "9" * long + ")/"
    assert len(surt("http://" + "é" * long)) == 6 * long + 2


BEGINS = [
    ("http://a.example", "http://www.a.example/b", True),
    ("http://a.example/", "https://a.example/b?c", True),
    ("http://a.example", "http://a.example.org/", False),
    ("http://a.example", "http://a.example:8080/", False),
    ("http://a.example/b", "http://a.example/bc", True),
    ("http://a.example/b/", "http://a.example/bc", False),
    ("http://a.example/b/", "http://a.example/b", True),
    ("http://a.example/b/", "http://a.example/b/?x", True),
    ("http://a.example/b/", "http://a.example/b/c", True),
    ("http://a.example/b?c=1", "http://a.example/b?c=12&a=0", True),
    ("http://a.example/b?c=1", "http://a.example/b?a=0&c=1", False),
    ("*.a.example", "http://b.a.example/c", True),
    ("http://*.a.example/", "http://a.example:81/c", True),
    ("*.a.example", "http://ba.example/", False),
    ("urn:a:", "urn:a:b", True),
    ("urn:a:", "urn:b", False),
]


@pytest.mark.parametrize(("prefix", "url", "begins"), BEGINS)
def test_beginnings(prefix: str, url: str, begins: bool) -> None:
    assert Prefix.of(prefix).matches(surt(url), url) is begins
