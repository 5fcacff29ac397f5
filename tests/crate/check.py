"""Validates an unpacked bundle as a research object, without a network.

The rules are those of the profile Workflow Run Crate 0.5 and of what it builds on (Process Run Crate, Workflow
RO-Crate, RO-Crate 1.1), as they come with `roc-validator`. The vocabulary of RO-Crate 1.1 comes with `rocrate`, and
is handed over in place of the download. Rules that must hold decide; those that should hold are told.
"""

import argparse
import importlib.resources
import sys

import requests
from rocrate_validator import models, services
from rocrate_validator.utils import http

PROFILE = "workflow-run-crate-0.5"
VOCABULARY = "https://w3id.org/ro/crate/1.1/context"


def answer(requester, url, *_arguments, **_options):
    """Answers with the vocabulary of RO-Crate; whatever else is asked for can't be had."""
    response = requests.Response()
    response.url = url
    response.status_code = http.OFFLINE_CACHE_MISS_STATUS
    if url == VOCABULARY:
        response.status_code = requests.codes.ok
        response.headers["Content-Type"] = "application/ld+json"
        response._content = importlib.resources.files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
        assert response.json()["@id"] == VOCABULARY, response.json()["@id"]
    return response


def broken_rules(folder, severity):
    """Returns a line for each rule of this severity or a higher one that does not hold."""
    settings = services.ValidationSettings(
        rocrate_uri=folder, profile_identifier=PROFILE, requirement_severity=severity, offline=True
    )
    result = services.validate(settings)
    return sorted({f"{issue.check.identifier}: {issue.message}" for issue in result.get_issues(severity)})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    http.HttpRequester.get = answer
    must = broken_rules(folder, models.Severity.REQUIRED)
    should = [rule for rule in broken_rules(folder, models.Severity.RECOMMENDED) if rule not in must]
    for rule in must:
        print(f"must hold: {rule}")
    for rule in should:
        print(f"should hold: {rule}")
    print(f"{PROFILE}: {len(must)} rules broken that must hold, {len(should)} that should")
    return 1 if must else 0


if __name__ == "__main__":
    sys.exit(main())
