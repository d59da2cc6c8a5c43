"""What deploy/ has: files are what their programs read, and shards together take a whole list."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.services.kafkas import Kafka, started
from tests.services.promtools import promtool
from tests.sites.papers import BUSY, MAIN, OTHER, SmallSite
from tests.starts import ROOT, Shell

DEPLOY = ROOT / "deploy"
COUNT = 3
SCRAPYD = """\
#!/bin/sh
# Stands for curl and the scrapyd that it asks: a job begins as scrapyd begins it, and ends.
set -- "$@" end
while [ "$1" != end ]; do
    word=$1; shift
    case $word in
        setting=*) set -- "$@" -s "${word#setting=}" ;;
        input=* | shard=*) set -- "$@" -a "$word" ;;
    esac
done
shift
scrapy crawl futli "$@" >&2 && echo '{"status": "ok"}'
"""


def text(path: str) -> str:
    return (DEPLOY / path).read_text("utf-8")


def placed(said: str, shell: Shell) -> str:
    """What is *said* of the folders of a machine, of that of *shell*."""
    return re.sub(r"(?<![\w.])/(srv/lafka|lists)(?=[/ ]|$)", str(shell.folder), said, flags=re.M)


def compose(name: str = "compose.yml") -> dict:
    return yaml.safe_load(text(f"compose/{name}"))


def of_systemd(shell: Shell) -> Iterator[str]:
    unit = text("systemd/lafka-shard@.service")
    [begun] = re.findall(r"(?m)^ExecStart=(.*)$", unit)
    given = re.findall(r"(?m)^Environment=(.*)$", unit)
    for number in range(COUNT):
        yield " ".join([f"SHARDS={COUNT}; export", *given, f"; {begun}"]).replace("%i", str(number))


def of_kubernetes(shell: Shell) -> Iterator[str]:
    job = yaml.safe_load(text("kubernetes/job.yaml"))["spec"]
    assert (job["completionMode"], job["completions"]) == ("Indexed", COUNT)
    [container] = job["template"]["spec"]["containers"]
    given = " ".join(f"{variable['name']}={variable['value']}" for variable in container["env"])
    assert f"SHARDS={COUNT}" in given
    for number in range(COUNT):
        yield f"{given} JOB_COMPLETION_INDEX={number} {shlex.join(container['command'])}"


def of_slurm(shell: Shell) -> Iterator[str]:
    assert f"#SBATCH --array=0-{COUNT - 1}\n" in text("slurm/lafka.sbatch")
    script = shell.folder / "lafka.sbatch"
    script.write_text(placed(text("slurm/lafka.sbatch"), shell))
    for number in range(COUNT):
        yield f"SLURM_ARRAY_TASK_ID={number} sh {script}"


def of_compose(shell: Shell) -> Iterator[str]:
    """The workers, each with a volume of its own; without the gate, which has other tests."""
    workers = [told for name, told in compose()["services"].items() if name.startswith("worker-")]
    assert len({told["volumes"][1] for told in workers}) == len(workers) == COUNT
    for number, told in enumerate(workers):
        given = f"LAFKA_ARCHIVE={told['environment']['LAFKA_ARCHIVE']}"
        line = f"{given} {shlex.join(['lafka', *told['command']])}"
        yield line.replace("/srv/lafka/archive", f"/srv/lafka/shard-{number}")


def of_scrapyd(shell: Shell) -> Iterator[str]:
    curl = shell.folder / "bin/curl"
    curl.write_text(SCRAPYD)
    curl.chmod(0o755)
    script = shell.folder / "schedule"
    script.write_text(placed(text("scrapyd/schedule"), shell))
    yield f"SCRAPYDS='http://127.0.0.1:6800 http://127.0.0.1:6801' sh {script}"


@pytest.fixture
def shell(tmp_path: Path, programs: Path) -> Shell:
    """In a folder that stands for /srv/lafka."""
    (tmp_path / "bin").mkdir()
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/bin").symlink_to(programs)
    return Shell(tmp_path, (tmp_path / "bin", programs))


@pytest.mark.parametrize("begun", [of_systemd, of_kubernetes, of_slurm, of_compose, of_scrapyd])
def test_shards_of_a_scheduler_take_each_line_once(
    begun: Callable[[Shell], Iterator[str]], shell: Shell
) -> None:
    with SmallSite((MAIN, OTHER, BUSY), 2) as site:
        listed = f"{site.list()}RePEc:tst:papers:bad\tno URL\n"
        (shell.folder / "list.tsv").write_text(listed)
        for line in begun(shell):
            done = shell(placed(line, shell))
            assert done.returncode == 0, f"{line}\n{done.stderr}"
    feeds = [path.read_text() for path in shell.folder.glob("shard-*/runs/*.jsonl")]
    assert len(feeds) > 1
    told = [json.loads(line) for feed in feeds for line in feed.splitlines()]
    asked = Counter(line["pid"] for line in told)
    assert asked == Counter(line.partition("\t")[0] for line in listed.splitlines())
    assert Counter(line["outcome"] for line in told) == Counter(
        [*(paper.outcome for paper in site.papers), "bad-url"]
    )


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    broker = started()
    yield broker
    broker.end()


def test_the_fleet_of_compose_takes_each_line_once(kafka: Kafka, shell: Shell) -> None:
    """The commands of its workers, with the compose file's own settings, in place of images."""
    services = compose("fleet.yml")["services"]

    def line(name: str) -> str:
        told = {**compose()["services"].get(name, {}), **services[name]}
        worker = told.get("environment", {}).get("LAFKA_WORKER", "none")
        given = f"LAFKA_ARCHIVE=/srv/lafka/{worker} LAFKA_WORKER={worker}"
        command = shlex.join(["lafka", *told["command"]]).replace("kafka:9092", kafka.servers)
        return placed(f"{given} {command}", shell)

    with SmallSite((MAIN, OTHER, BUSY), 2) as site:
        (shell.folder / "list.tsv").write_text(site.list())
        workers = [name for name in services if name.startswith("worker-")]
        for name in ("put", *workers):
            done = shell(line(name))
            assert done.returncode == 0, done.stderr
    feeds = [path.read_text() for path in shell.folder.glob("worker-*/runs/*.jsonl")]
    told = Counter(json.loads(line)["pid"] for feed in feeds for line in feed.splitlines())
    assert told == Counter(line.partition("\t")[0] for line in site.list().splitlines())


def test_kafka_takes_the_settings_that_compose_gives_it(kafka: Kafka, tmp_path: Path) -> None:
    given = compose("fleet.yml")["services"]["kafka"]["environment"]
    names = {
        name.removeprefix("KAFKA_").lower().replace("_", "."): told for name, told in given.items()
    }
    names["log.dirs"] = tmp_path / "data"
    broker = Kafka(folder=tmp_path)
    (tmp_path / "properties").write_text("".join(f"{n}={told}\n" for n, told in names.items()))
    tool = broker._java("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c")
    subprocess.run(tool, check=True, capture_output=True)
    assert (tmp_path / "data/meta.properties").exists()


def test_a_scrapyd_that_refuses_ends_the_schedule(shell: Shell) -> None:
    curl = shell.folder / "bin/curl"
    curl.write_text('#!/bin/sh\necho \'{"status": "error"}\'\n')
    curl.chmod(0o755)
    done = shell(f"SCRAPYDS='http://a http://b' sh {DEPLOY / 'scrapyd/schedule'}")
    assert (done.returncode, done.stdout) == (1, 'http://a: {"status": "error"}\n')


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="apt install systemd")
def test_systemd_finds_no_fault_with_its_units(tmp_path: Path) -> None:
    for path in (DEPLOY / "systemd").iterdir():
        unit = path.read_text().replace("/srv/lafka/.venv/bin/lafka", "/bin/true")
        (tmp_path / path.name).write_text(unit)
        (tmp_path / path.name.replace("@", "@0")).write_text(unit)
    units = [path.name for path in tmp_path.glob("*@0.*")]
    assert len(units) == 3
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(f"./{name}" for name in units)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_on_mails_shows_the_unit_as_it_is() -> None:
    page = (ROOT / "docs/how-to/mail-when-a-crawl-fails.md").read_text("utf-8")
    [shown] = re.findall(r"(?m)^\[Service\]\nType=oneshot\nExecStart=.*$", page)
    assert shown in text("systemd/lafka-failed@.service")


def test_nothing_of_compose_is_public_and_prometheus_knows_each_worker(tmp_path: Path) -> None:
    services = {**compose("fleet.yml")["services"], **compose()["services"]}
    ports = [port for told in services.values() for port in told.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)
    for name in ("gate", "kafka", "put"):
        assert services[name]["networks"] == ["inside"]
    assert compose()["networks"]["inside"] == {"internal": True}
    [job] = yaml.safe_load(text("compose/prometheus.yml"))["scrape_configs"]
    [asked] = job["static_configs"]
    assert asked["targets"] == [f"{name}:9410" for name in services if "worker" in name]
    shutil.copy(DEPLOY / "compose/prometheus.yml", tmp_path)
    shutil.copy(DEPLOY / "alerts.yml", tmp_path)
    promtool("check", "config", "prometheus.yml", cwd=tmp_path)


def test_each_file_is_in_the_table_and_what_the_image_copies_is_there() -> None:
    table = text("README.md")
    linked = set(re.findall(r"\]\((?!\.\.)([^)#]+)\)", table))
    files = [str(path.relative_to(DEPLOY)) for path in DEPLOY.rglob("*") if path.is_file()]
    missing = [name for name in files if not any(name.startswith(link) for link in linked)]
    assert missing == ["README.md"]
    image = text("compose/Dockerfile")
    copied = [word for line in re.findall(r"(?m)^COPY (.*) \S+$", image) for word in line.split()]
    assert copied
    assert all((ROOT / path).exists() for path in copied)
