// The keys of one prefix in etcd, in the words of the mirror: transactions, ranges, leases, and the bridge's
// own keys under `$bridge/`. Values are envelopes. It keeps nothing.

import PlugboardClient
import PlugboardPosix
import PlugboardWire

/// The prefix of the bridge's keys.
struct EtcdPrefix: Sendable, Equatable {
    let text: String

    func key(_ key: String) -> Data { Data((text + key).utf8) }
    func own(_ name: String) -> Data { key(Self.ownStart + name) }
    var start: Data { Data(text.utf8) }

    /// The first key after all keys with the prefix.
    var end: Data {
        var bytes = Array(text.utf8)
        while let last = bytes.popLast() {
            if last < 0xFF { return Data(bytes + [last + 1]) }
        }
        return Data([0])
    }

    /// The key's name on the bus; nil if the key isn't under the prefix.
    func name(_ key: Data) -> String? {
        guard key.starts(with: text.utf8),
            let name = String(bytes: key.dropFirst(text.utf8.count), encoding: .utf8)
        else { return nil }
        return name
    }

    /// The key's name on the bus, or what is wrong with it and a name for people. Nil for the bridge's own keys
    /// and under other prefixes.
    func busName(_ key: Data) -> (name: String, obstacle: Obstacle?)? {
        guard key.starts(with: text.utf8) else { return nil }
        let bytes = Array(key.dropFirst(text.utf8.count))
        guard !bytes.starts(with: Self.ownStart.utf8) else { return nil }
        let obstacle = Obstacle(key: bytes.span)
        return (obstacle == nil ? String(decoding: bytes, as: UTF8.self) : RefusedKey.name(bytes), obstacle)
    }

    /// The rest of one of the bridge's own keys; nil for any other key.
    func ownName(_ key: Data, _ kind: String) -> String? {
        guard let name = name(key), name.hasPrefix(Self.ownStart + kind) else { return nil }
        return String(name.dropFirst(Self.ownStart.count + kind.count))
    }

    private static let ownStart = "$bridge/"
}

struct EtcdStore: Sendable {
    static let deletesKey = "deletes/"
    static let hostsKey = "hosts/"

    let gateway: EtcdGateway
    let prefix: EtcdPrefix
    let host: String
    let bridge: String

    // MARK: Transactions

    func perform(_ transaction: EtcdTransaction) async throws(EtcdError) -> TransactionOutcome {
        // No other bus could take it.
        guard transaction.writes.allSatisfy({ $0.obstacle == nil }) else { return .refused }
        let body = request(transaction)
        let reply: EtcdTransactionReply
        do {
            reply = try await gateway.ask("/v3/kv/txn", body, as: EtcdTransactionReply.self)
        } catch .refused(_, let reason) where reason.contains("too large") || reason.contains("too many") {
            return .refused
        } catch .tooLarge {
            // A guard failed, and what it met is large. Fewer keys bring a shorter answer.
            return .refused
        } catch .refused(EtcdError.notFound, _) where transaction.lease != nil {
            return .leaseGone
        }
        gateway.note(reply.header)
        let revision = reply.header?.revision?.value ?? 0
        if reply.succeeded == true { return .done(revision: revision) }
        var found: [String: (revision: Int, id: WriteID?)] = [:]
        for entry in (reply.responses ?? []).flatMap({ $0.response_range?.kvs ?? [] }) {
            guard let name = prefix.name(entry.key) else { continue }
            found[name] = (entry.mod_revision?.value ?? 0, Self.content(entry).id)
        }
        return .failed(at: revision, found: found)
    }

    private func request(_ transaction: EtcdTransaction) -> EtcdTransactionRequest {
        var body = EtcdTransactionRequest(compare: [], success: [], failure: [])
        for write in transaction.writes {
            let key = prefix.key(write.key)
            body.compare.append(EtcdCompare(key: key, mod_revision: EtcdNumber(write.guardRevision)))
            body.success.append(operation(key, write, transaction.lease))
            body.failure.append(EtcdOperation(request_range: EtcdRange(key: key)))
        }
        if let mark = transaction.deleteMark {
            let put = EtcdPut(key: prefix.own(Self.deletesKey + host), value: Data(Self.mark(host, mark)))
            body.success.append(EtcdOperation(request_put: put))
        }
        return body
    }

    private func operation(_ key: Data, _ write: EtcdTransaction.Write, _ lease: Int?) -> EtcdOperation {
        guard let value = write.value else {
            return EtcdOperation(request_delete_range: EtcdDelete(key: key))
        }
        let envelope = Envelope(host: host, by: write.by, when: write.when, id: write.id, value: value)
        var put = EtcdPut(key: key, value: Data(envelope.bytes))
        if write.isBound { put.lease = lease.map { EtcdNumber($0) } }
        return EtcdOperation(request_put: put)
    }

    private static func mark(_ host: String, _ id: WriteID) -> [UInt8] {
        JSON.object(["host": .string(host), "id": .string(id.text)]).bytes
    }

    // MARK: Reading

    /// All keys of the prefix at one revision; nil means the newest.
    func range(at revision: Int? = nil, keysOnly: Bool = false) async throws(EtcdError) -> EtcdSnapshot {
        var changes: [EtcdChange] = []
        var (start, at, pageKeys) = (prefix.start, revision, BridgeLimits.pageKeysMax)
        while true {
            var body = EtcdRange(key: start, range_end: prefix.end)
            body.revision = at.map { EtcdNumber($0) }
            body.limit = EtcdNumber(pageKeys)
            body.keys_only = keysOnly ? true : nil
            let reply: EtcdRangeReply
            do {
                reply = try await gateway.ask("/v3/kv/range", body, as: EtcdRangeReply.self)
            } catch {
                // Large values make a page too long for an answer, or for the time that it may take.
                guard pageKeys > 1, error.mayBeForLength else { throw error }
                pageKeys = max(1, pageKeys / 8)
                continue
            }
            pageKeys = min(2 * pageKeys, BridgeLimits.pageKeysMax)
            gateway.note(reply.header)
            at = at ?? reply.header?.revision?.value
            changes += (reply.kvs ?? []).compactMap { change($0) }
            guard reply.more == true, let last = reply.kvs?.last else {
                return EtcdSnapshot(changes: changes, revision: at ?? 0, isPast: revision != nil)
            }
            start = last.key + Data([0])
        }
    }

    /// All keys at an earlier revision; nil if etcd has forgotten it (compaction).
    func past(at revision: Int) async throws(EtcdError) -> EtcdSnapshot? {
        do {
            return try await range(at: revision)
        } catch {
            if case .refused(_, let reason) = error, reason.contains("compacted") { return nil }
            throw error
        }
    }

    /// One key as it is now.
    func find(_ key: Data) async throws(EtcdError) -> (entry: EtcdKeyValue?, revision: Int) {
        let reply = try await gateway.ask("/v3/kv/range", EtcdRange(key: key), as: EtcdRangeReply.self)
        gateway.note(reply.header)
        return (reply.kvs?.first, reply.header?.revision?.value ?? 0)
    }

    /// The present state of a key of the bus; nil if it has none.
    func change(of key: String) async throws(EtcdError) -> EtcdChange? {
        try await find(prefix.key(key)).entry.flatMap { change($0) }
    }

    private func change(_ entry: EtcdKeyValue) -> EtcdChange? {
        guard let (name, obstacle) = prefix.busName(entry.key) else { return nil }
        return EtcdChange(
            key: name,
            revision: entry.mod_revision?.value ?? 0,
            content: obstacle.map { .refused($0) } ?? Self.content(entry)
        )
    }

    private static func content(_ entry: EtcdKeyValue) -> EtcdChange.Content {
        do {
            return .put(try Envelope(reading: entry.value ?? []))
        } catch {
            return .refused(error)
        }
    }

    /// The events of a watch's line, by their revisions and in order.
    func groups(_ events: [EtcdWatchLine.Event]) -> [EtcdGroup] {
        var groups: [EtcdGroup] = []
        for event in events {
            let revision = event.kv.mod_revision?.value ?? 0
            if groups.last?.revision != revision { groups.append(EtcdGroup(revision: revision)) }
            let last = groups.count - 1
            if let host = prefix.ownName(event.kv.key, Self.deletesKey) {
                groups[last].deleteID = Envelope.id(in: event.kv.value ?? [])
                groups[last].deleteHost = host
            } else if let host = prefix.ownName(event.kv.key, Self.hostsKey) {
                groups[last].hosts.append(HostChange(host: host, isAlive: event.type != "DELETE"))
            } else if event.type == "DELETE" {
                guard let name = prefix.busName(event.kv.key)?.name else { continue }
                groups[last].changes.append(EtcdChange(key: name, revision: revision, content: .delete))
            } else if let change = change(event.kv) {
                groups[last].changes.append(change)
            }
        }
        return groups.map(\.marked)
    }

    // MARK: The bridge's own keys

    private var fence: String { "fences/" + host }

    /// Puts this host's fence and returns its revision.
    func putFence() async throws(EtcdError) -> Int { try await putOwn(fence, .string(host)) }

    /// The revision of this host's last fence; 0 if there is none.
    func lastFence() async throws(EtcdError) -> Int { try await findFence().fence }

    /// The revision of this host's last fence, and etcd's revision.
    func findFence() async throws(EtcdError) -> (fence: Int, revision: Int) {
        let found = try await find(prefix.own(fence))
        return (found.entry?.mod_revision?.value ?? 0, found.revision)
    }

    /// Puts one of the bridge's own keys and returns its revision.
    @discardableResult
    func putOwn(_ name: String, _ value: JSON, lease: Int? = nil) async throws(EtcdError) -> Int {
        var put = EtcdPut(key: prefix.own(name), value: Data(value.bytes))
        put.lease = lease.map { EtcdNumber($0) }
        let body = EtcdTransactionRequest(
            compare: [], success: [EtcdOperation(request_put: put)], failure: []
        )
        let reply = try await gateway.ask("/v3/kv/txn", body, as: EtcdTransactionReply.self)
        gateway.note(reply.header)
        return reply.header?.revision?.value ?? 0
    }
}

/// All keys of the prefix at one revision.
struct EtcdSnapshot: Sendable, Equatable {
    let changes: [EtcdChange]
    let revision: Int
    /// Whether an earlier revision was asked for.
    let isPast: Bool
}

/// What happened in etcd at one revision.
struct EtcdGroup: Sendable, Equatable {
    let revision: Int
    var changes: [EtcdChange] = []
    /// The mark beside deletes of a bridge: which write made them, and on which host.
    var deleteID: WriteID?
    var deleteHost: String?
    /// Hosts whose lease began or ended.
    var hosts: [HostChange] = []

    /// The same with the mark in each delete.
    fileprivate var marked: EtcdGroup {
        guard let deleteID else { return self }
        var group = self
        for index in group.changes.indices where group.changes[index].content == .delete {
            group.changes[index].deleteID = deleteID
            group.changes[index].deleteHost = deleteHost
        }
        return group
    }
}

/// A host's lease began, or ended.
struct HostChange: Sendable, Equatable {
    let host: String
    let isAlive: Bool
}

extension EtcdGroup {
    /// The only host that wrote in it; nil if there are several, or none.
    var author: String? {
        let hosts = Set(changes.map(\.host))
        return hosts.count == 1 ? hosts.first ?? nil : nil
    }
}

extension Envelope {
    /// The identifier in a mark of deletes.
    static func id(in bytes: [UInt8]) -> WriteID? {
        do {
            return try JSON(bytes: bytes)["id"]?.string.flatMap { WriteID($0) }
        } catch {
            return nil
        }
    }
}
