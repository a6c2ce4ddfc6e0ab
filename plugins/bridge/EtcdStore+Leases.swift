// What ends with a host: its lease, the keys under it, and its claims of patterns. A claim is a key that only
// one host can put, because the transaction compares it.

import PlugboardClient

extension EtcdStore {
    /// How long a lease lives without its host, in seconds.
    static let leaseSeconds = 20

    /// The lease of an earlier session of this bridge, if it still lives.
    func earlierLease() async throws(EtcdError) -> Int? {
        let entry = try await find(prefix.own(Self.hostsKey + host)).entry
        guard Self.owner(entry).bridge == bridge, let lease = entry?.lease?.value, lease != 0 else {
            return nil
        }
        return try await keepAlive(lease) ? lease : nil
    }

    /// The hosts whose leases are kept alive.
    func hosts() async throws(EtcdError) -> Set<String> {
        let hosts = EtcdPrefix(text: prefix.text + "$bridge/" + Self.hostsKey)
        var (names, start): (Set<String>, Data) = ([], hosts.start)
        while true {
            var body = EtcdRange(key: start, range_end: hosts.end, keys_only: true)
            body.limit = EtcdNumber(BridgeLimits.pageKeysMax)
            let reply = try await gateway.ask("/v3/kv/range", body, as: EtcdRangeReply.self)
            names.formUnion((reply.kvs ?? []).compactMap { hosts.name($0.key) })
            guard reply.more == true, let last = reply.kvs?.last else { return names }
            start = last.key + Data([0])
        }
    }

    func grantLease() async throws(EtcdError) -> Int {
        let body = EtcdLeaseGrant(TTL: EtcdNumber(Self.leaseSeconds))
        let reply = try await gateway.ask("/v3/lease/grant", body, as: EtcdLeaseReply.self)
        guard let lease = reply.ID?.value else { throw .unavailable(reason: "etcd grants no lease") }
        return lease
    }

    /// Keeps a lease alive. Returns false if it is gone.
    func keepAlive(_ lease: Int) async throws(EtcdError) -> Bool {
        let body = EtcdLeaseID(ID: EtcdNumber(lease))
        let reply = try await gateway.ask("/v3/lease/keepalive", body, as: EtcdLeaseReply.self)
        gateway.note(nil)
        return reply.result?.TTL?.value ?? 0 > 0
    }

    /// Claims a pattern under the lease. Returns the host that has it already; nil if this one has it now.
    func claim(_ pattern: String, lease: Int) async throws(EtcdError) -> String? {
        let key = prefix.own("own/" + pattern)
        let entry = try await find(key).entry
        let owner = Self.owner(entry)
        guard entry == nil || owner.bridge == bridge else { return owner.host }
        // An earlier life of this bridge may have put it. Then it moves to the new lease.
        let put = EtcdPut(key: key, value: Data(owned.bytes), lease: EtcdNumber(lease))
        let body = EtcdTransactionRequest(
            compare: [EtcdCompare(key: key, mod_revision: entry?.mod_revision ?? EtcdNumber(0))],
            success: [EtcdOperation(request_put: put)],
            failure: [EtcdOperation(request_range: EtcdRange(key: key))]
        )
        let reply = try await gateway.ask("/v3/kv/txn", body, as: EtcdTransactionReply.self)
        guard reply.succeeded != true else { return nil }
        let other = Self.owner(reply.responses?.first?.response_range?.kvs?.first)
        return other.bridge == bridge ? nil : other.host
    }

    /// What this bridge writes about itself.
    var owned: JSON { .object(["host": .string(host), "id": .string(bridge)]) }

    private static func owner(_ entry: EtcdKeyValue?) -> (host: String, bridge: String?) {
        do {
            let json = try entry?.value.map { try JSON(bytes: $0) }
            return (json?["host"]?.string ?? "somebody", json?["id"]?.string)
        } catch {
            return ("somebody", nil)
        }
    }
}
