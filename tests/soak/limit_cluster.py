"""A Cluster of three primaries, each with a replica, for counters and bans."""

from deployment import Server, wait_for
from servers import free_port

PRIMARIES = 3
SLOTS = 16384
NODE_TIMEOUT_MS = 3000


class Node(Server):
    def __init__(self, stack, folder):
        # The Cluster bus port is the server's port plus 10,000, unless configured.
        self.bus = free_port()
        super().__init__(
            stack, folder, "--cluster-enabled", "yes", "--cluster-port", self.bus,
            "--cluster-node-timeout", NODE_TIMEOUT_MS,
        )  # fmt: skip

    @property
    def id(self):
        return self.call("cluster", "myid").strip()

    def is_primary(self):
        return "role:master" in self.ask("INFO", "replication")

    def sees(self, nodes):
        state = self.ask("CLUSTER", "INFO")
        return "cluster_state:ok" in state and f"cluster_known_nodes:{nodes}\r" in state


class Pair:
    def __init__(self, primary, replica):
        self.primary = primary
        self.replica = replica

    def is_settled(self):
        return self.primary.is_primary() and self.replica.is_synced_replica()

    def switch(self):
        """A planned failover. Returns once the replica is the primary."""
        self.replica.call("cluster", "failover")
        self.wait_for_promotion()

    def kill(self):
        self.primary.process.kill()
        self.primary.process.wait()
        self.wait_for_promotion()

    def wait_for_promotion(self):
        self.primary, self.replica = self.replica, self.primary
        wait_for(self.primary.is_primary, "failover in the Cluster")

    def start_replica(self):
        self.replica.start()
        wait_for(self.replica.is_synced_replica, "the replica in the Cluster")


class LimitCluster:
    def __init__(self, stack, folder):
        self.nodes = [Node(stack, folder / f"limit-redis-{i}") for i in range(2 * PRIMARIES)]
        primaries, replicas = self.nodes[:PRIMARIES], self.nodes[PRIMARIES:]
        self.pairs = [Pair(*nodes) for nodes in zip(primaries, replicas)]
        self._form()

    def _form(self):
        for i, pair in enumerate(self.pairs):
            first, end = (SLOTS * edge // PRIMARIES for edge in (i, i + 1))
            pair.primary.call("cluster", "addslotsrange", first, end - 1)
        first, *others = self.nodes
        for node in others:
            node.call("cluster", "meet", "127.0.0.1", first.port, first.bus)
        self._wait_until_all_see_all()
        for pair in self.pairs:
            pair.replica.call("cluster", "replicate", pair.primary.id)
        wait_for(self.is_settled, "replication in the Cluster")

    def _wait_until_all_see_all(self):
        count = len(self.nodes)
        wait_for(lambda: all(node.sees(count) for node in self.nodes), "the Cluster")

    def is_settled(self):
        return all(pair.is_settled() for pair in self.pairs)

    @property
    def url(self):
        return " ".join(["cluster", *(f"redis://127.0.0.1:{n.port}" for n in self.nodes)])
