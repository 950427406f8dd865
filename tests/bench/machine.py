"""The machine and the software versions of a measurement."""

import json
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path


def output(*command, cwd=None):
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    binary = shutil.which(command[0], path=path)
    if not binary:
        return ""
    done = subprocess.run([binary, *command[1:]], capture_output=True, text=True, cwd=cwd)
    return (done.stdout + done.stderr).strip() if done.returncode in (0, 1) else ""


def version(*command):
    found = re.search(r"\d+\.\d+[\d.]*", output(*command))
    return found[0] if found else "?"


def describe_machine():
    cpu = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", cpu)
    memory = re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text())
    release = re.search(r'PRETTY_NAME="(.*)"', Path("/etc/os-release").read_text())
    return {
        "cpu": model[1] if model else platform.machine(),
        "cores": os.cpu_count(),
        "virtual": bool(re.search(r"flags.*\bhypervisor\b", cpu)),
        "memory_gib": round(int(memory[1]) / 2**20),
        "system": release[1] if release else "?",
        "kernel": platform.release(),
    }


def describe_versions(root, lock):
    packages = json.loads(lock.read_text())["packages"]
    commit = output("git", "rev-parse", "--short", "HEAD", cwd=root)
    if commit and output("git", "status", "--porcelain", "--", "src", cwd=root):
        commit += " with changes"
    return {
        "module": commit or "?",
        "nginx": version("nginx", "-v"),
        "Redis": version("redis-server", "--version"),
        "node": version("node", "--version"),
        "Fastify": packages["node_modules/fastify"]["version"],
        "ioredis": packages["node_modules/ioredis"]["version"],
        "wrk": version("wrk", "--version"),
    }
