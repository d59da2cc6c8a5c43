"""A small table of platforms: the page's address -> the file's. The last thing that is tried."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lafka.papers.candidates import PLATFORM, Candidate
from lafka.papers.finders import urls, weights
from lafka.papers.finders.pages import Page


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """One row: an address matched as a whole, and what it becomes. ``example``: from, to."""

    name: str
    page: re.Pattern[str] = field(repr=False)
    file: str
    example: tuple[str, str]


def _row(name: str, page: str, file: str, *example: str) -> Platform:
    return Platform(
        name=name,
        page=re.compile(rf"(https?://)(?:{page})/?(?:[?#].*)?", re.IGNORECASE),
        file=file,
        example=(example[0], example[1]),
    )


# In each pattern group 1 is the scheme; named groups are the row's own.
PLATFORMS: tuple[Platform, ...] = (
    _row(
        "atypon",
        r"(?P<host>[^/]+)/doi/(?:(?:full|abs|abstract|figure|ref|citedby|suppl|reader)/)?(?P<doi>10\.\d{4,9}/[^?#]+?)(?:/(?:full|abstract))?",
        r"\1\g<host>/doi/pdf/\g<doi>",
        "https://x.example/doi/full/10.1000/1",
        "https://x.example/doi/pdf/10.1000/1",
    ),
    _row(
        "springer",
        r"(?P<host>link\.springer\.com)/(?:article|chapter)/(?P<doi>10\.\d{4,9}/[^/?#]+)(?:/fulltext\.html)?",
        r"\1\g<host>/content/pdf/\g<doi>.pdf",
        "https://link.springer.com/article/10.1007/s0",
        "https://link.springer.com/content/pdf/10.1007/s0.pdf",
    ),
    _row(
        "nature",
        r"(?P<rest>www\.nature\.com/articles/[\w-]+)",
        r"\1\g<rest>.pdf",
        "https://www.nature.com/articles/s0",
        "https://www.nature.com/articles/s0.pdf",
    ),
    _row(
        "arxiv",
        r"(?P<host>(?:[a-z]+\.)?arxiv\.org)/abs/(?P<id>[\w.\-/]+)",
        r"\1\g<host>/pdf/\g<id>",
        "https://arxiv.org/abs/0000.00001",
        "https://arxiv.org/pdf/0000.00001",
    ),
    _row(
        "sciencedirect",
        r"(?P<host>www\.sciencedirect\.com)/science/article/pii/(?P<pii>S?[\dX]+)",
        r"\1\g<host>/science/article/pii/\g<pii>/pdfft",
        "https://www.sciencedirect.com/science/article/pii/S0000000000000000",
        "https://www.sciencedirect.com/science/article/pii/S0000000000000000/pdfft",
    ),
    _row(
        "mdpi",
        r"(?P<rest>www\.mdpi\.com/[\dX-]{9}/\d+/\d+/\d+)(?:/htm)?",
        r"\1\g<rest>/pdf",
        "https://www.mdpi.com/0000-0000/1/2/3",
        "https://www.mdpi.com/0000-0000/1/2/3/pdf",
    ),
    _row(
        "frontiers",
        r"(?P<rest>[\w.]*frontiersin\.org/[\w/]*articles?/10\.3389/[\w.]+)/(?:full|abstract)",
        r"\1\g<rest>/pdf",
        "https://www.frontiersin.org/articles/10.3389/a.0.1/full",
        "https://www.frontiersin.org/articles/10.3389/a.0.1/pdf",
    ),
    _row(
        "plos",
        r"(?P<rest>journals\.plos\.org/\w+/article)\?id=(?P<doi>10\.1371/[\w.]+)",
        r"\1\g<rest>/file?id=\g<doi>&type=printable",
        "https://journals.plos.org/plosone/article?id=10.1371/journal.pone.0",
        "https://journals.plos.org/plosone/article/file?id=10.1371/journal.pone.0&type=printable",
    ),
    _row(
        "highwire",
        r"(?P<rest>[^/]+/content/(?:[\w.-]+/)*(?:\d+/[\w-]+/(?!abstract|full|short|long)[\w.]+?|10\.1101/[\w.]+?v\d+))(?:\.(?:abstract|full|short|long)|/(?:abstract|full|short))?",
        r"\1\g<rest>.full.pdf",
        "https://x.example/content/1/2/3.abstract",
        "https://x.example/content/1/2/3.full.pdf",
    ),
    _row(
        "jstage",
        r"(?P<rest>www\.jstage\.jst\.go\.jp/article/[\w./-]+)/_article(?:/-char/\w+)?",
        r"\1\g<rest>/_pdf",
        "https://www.jstage.jst.go.jp/article/j/1/2/1_3/_article/-char/en",
        "https://www.jstage.jst.go.jp/article/j/1/2/1_3/_pdf",
    ),
    _row(
        "cyberleninka",
        r"(?P<rest>cyberleninka\.ru/article/n/[\w-]+)(?:/viewer)?",
        r"\1\g<rest>/pdf",
        "https://cyberleninka.ru/article/n/a-b",
        "https://cyberleninka.ru/article/n/a-b/pdf",
    ),
    _row(
        "openreview",
        r"(?P<host>openreview\.net)/forum\?id=(?P<id>[\w-]+)",
        r"\1\g<host>/pdf?id=\g<id>",
        "https://openreview.net/forum?id=a",
        "https://openreview.net/pdf?id=a",
    ),
    _row(
        "pmc",
        r"(?P<rest>(?:www\.ncbi\.nlm\.nih\.gov/pmc|pmc\.ncbi\.nlm\.nih\.gov|europepmc\.org)/articles/PMC\d+)",
        r"\1\g<rest>/pdf/",
        "https://pmc.ncbi.nlm.nih.gov/articles/PMC1/",
        "https://pmc.ncbi.nlm.nih.gov/articles/PMC1/pdf/",
    ),
)  # fmt: skip

# Of records that links lead to; the further ones may have no file, and say so in their metas.
RECORDS: tuple[Platform, ...] = (
    *PLATFORMS,
    _row(
        "hal",
        r"(?P<rest>[\w.-]*(?:\bhal\.science|archives-ouvertes\.fr|\bhal\.[\w-]+\.\w+)/[a-z]{3,9}-\d{8}(?:v\d+)?)",
        r"\1\g<rest>/document",
        "https://theses.hal.science/tel-00000001v1",
        "https://theses.hal.science/tel-00000001v1/document",
    ),
    _row(
        "acl",
        r"(?:www\.)?acl(?:web\.org/anthology|anthology\.org)/(?:papers/\w/\w\d\d/)?(?P<id>[A-Z]\d\d-\d{4}|\d{4}\.[\w-]+\.\d+)",
        r"\1aclanthology.org/\g<id>.pdf",
        "https://aclweb.org/anthology/papers/P/P00/P00-0001/",
        "https://aclanthology.org/P00-0001.pdf",
    ),
    _row(
        "cvf",
        r"(?P<rest>openaccess\.thecvf\.com/(?:content/?)?\w+)/html/(?P<name>[\w/.-]+)\.html",
        r"\1\g<rest>/papers/\g<name>.pdf",
        "https://openaccess.thecvf.com/content/CVPR2000/html/a_paper.html",
        "https://openaccess.thecvf.com/content/CVPR2000/papers/a_paper.pdf",
    ),
    _row(
        "pmlr",
        r"(?P<rest>proceedings\.mlr\.press/v\d+)/(?P<id>[\w-]+)\.html",
        r"\1\g<rest>/\g<id>/\g<id>.pdf",
        "https://proceedings.mlr.press/v0/a00a.html",
        "https://proceedings.mlr.press/v0/a00a/a00a.pdf",
    ),
    _row(
        "osf",
        r"(?:www\.)?(?:osf\.io/preprints/\w+|psyarxiv\.com)/(?P<id>[a-z0-9]{5})",
        r"\1osf.io/\g<id>/download",
        "https://osf.io/preprints/psyarxiv/a0b1c",
        "https://osf.io/a0b1c/download",
    ),
    _row(
        "iza",
        r"(?:www\.)?iza\.org/(?:\w\w/)?publications/dp/(?P<id>\d+)(?:/[\w-]*)?",
        r"\1docs.iza.org/dp\g<id>.pdf",
        "https://www.iza.org/publications/dp/1/a-paper",
        "https://docs.iza.org/dp1.pdf",
    ),
    _row(
        "nber",
        r"(?P<host>(?:www\.)?nber\.org)/papers/(?P<id>w\d{4,6})(?:\.html?)?",
        r"\1\g<host>/system/files/working_papers/\g<id>/\g<id>.pdf",
        "https://www.nber.org/papers/w0001",
        "https://www.nber.org/system/files/working_papers/w0001/w0001.pdf",
    ),
    _row(
        "mpra",
        r"(?P<host>mpra\.ub\.uni-muenchen\.de)/(?P<id>\d+)",
        r"\1\g<host>/\g<id>/1/MPRA_paper_\g<id>.pdf",
        "https://mpra.ub.uni-muenchen.de/1/",
        "https://mpra.ub.uni-muenchen.de/1/1/MPRA_paper_1.pdf",
    ),
    _row(
        "bis",
        r"(?P<rest>(?:www\.)?bis\.org/publ/work\d+)\.htm",
        r"\1\g<rest>.pdf",
        "https://www.bis.org/publ/work1.htm",
        "https://www.bis.org/publ/work1.pdf",
    ),
    _row(
        "neurips",
        r"(?P<rest>(?:proceedings\.neurips\.cc|papers\.nips\.cc)/paper(?:_files/paper)?/\d{4})/hash/(?P<id>\w{32})-Abstract(?P<kind>-\w+)?\.html",
        r"\1\g<rest>/file/\g<id>-Paper\g<kind>.pdf",
        "https://proceedings.neurips.cc/paper/1988/hash/006f52e9102a8d3be2fe5614f42ba989-Abstract.html",
        "https://proceedings.neurips.cc/paper/1988/file/006f52e9102a8d3be2fe5614f42ba989-Paper.pdf",
    ),
    _row(
        "iop",
        r"(?P<rest>iopscience\.iop\.org/article/10\.\d{4,5}/[\w./-]+?)(?:/meta)?",
        r"\1\g<rest>/pdf",
        "https://iopscience.iop.org/article/10.1088/0000-0000/1/2/003/meta",
        "https://iopscience.iop.org/article/10.1088/0000-0000/1/2/003/pdf",
    ),
    _row(
        "copernicus",
        r"(?P<host>(?P<code>[a-z]+)\.copernicus\.org)/articles/(?P<volume>\d+)/(?P<page>\d+)/(?P<year>\d{4})",
        r"\1\g<host>/articles/\g<volume>/\g<page>/\g<year>/\g<code>-\g<volume>-\g<page>-\g<year>.pdf",
        "https://acp.copernicus.org/articles/1/2/2001/",
        "https://acp.copernicus.org/articles/1/2/2001/acp-1-2-2001.pdf",
    ),
    _row(
        "peerj",
        r"(?P<rest>peerj\.com/articles/(?:cs-)?\d+)",
        r"\1\g<rest>.pdf",
        "https://peerj.com/articles/1/",
        "https://peerj.com/articles/1.pdf",
    ),
    _row(
        "bmc",
        r"(?P<host>[\w-]+\.(?:biomedcentral|springeropen)\.com)/articles/(?P<doi>10\.\d{4}/[\w.-]+)",
        r"\1\g<host>/track/pdf/\g<doi>",
        "https://journal.biomedcentral.com/articles/10.1186/s0-1-2",
        "https://journal.biomedcentral.com/track/pdf/10.1186/s0-1-2",
    ),
)  # fmt: skip

# In the address of a preprint's page, wherever a link to it stands.
PREPRINT = f"{urls.PREPRINTS}/abs/"
_PREPRINT = re.compile(r"^(https?://[\w.]{0,20}arxiv\.org)/abs/([\w./-]+)$", re.IGNORECASE)


def file_of_preprint(url: str, site: str) -> str | None:
    """Return the file of the preprint whose page is at *url*; None of another address, and for a
    link on the preprint server itself, whose *site* it is.
    """
    found = _PREPRINT.match(url)
    if found is None or site == urls.PREPRINTS:
        return None
    return f"{found[1]}/pdf/{found[2]}"


def file_of_record(url: str) -> tuple[str, str] | None:
    """Return (name of the platform, address of the file) of a page at *url*, if it is known."""
    return next(_files(RECORDS, url), None)


def _files(rows: Sequence[Platform], url: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each of *rows* that *url* fits, and what it becomes."""
    for row in rows:
        found = row.page.fullmatch(url)
        if found is not None:
            yield row.name, found.expand(row.file)


def platforms(page: Page) -> Iterator[Candidate]:
    """Yield what the page's own address becomes on a platform that is known."""
    for name, made in _files(PLATFORMS, page.url):
        url = urls.absolute(made, page.url)
        if url and not urls.same_page(url, page.url):
            yield Candidate(
                url=url,
                found_by=f"{PLATFORM}{name}",
                score=weights.PLATFORM,
                place=-1,
                reasons=("platform",),
            )
