// Why a key is as it is: the chain of causes from its newest write back to the root, as far as the history
// goes. Off the path of writes; the work for one answer is limited.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func why(_ asked: AskedRequest) throws(Refusal) {
        endExpired(asked.key)
        let session = asked.session
        try Access.checkSeen(asked.request, asked.line, sessions[session])
        refreshOwnState(matching: asked.key)
        guard let observable = keyspace.find(asked.key),
            keyspace[observable].hasValue || keyspace.lastEntry(of: observable) != nil
        else {
            try Key.check(asked.request.key, asked.line)
            throw .notFound(asked.request, asked.line, for: sessions[session].grant, &keyspace)
        }
        let limit =
            asked.request.has(.limit) ? requests.decoder.options.limit : Limits.chainStepsDefault
        var reply = beginReply(to: asked)
        reply.append(member: "key", text: asked.key)
        reply.append(#","chain":["#)
        let end = appendChain(of: observable, limit: limit, for: session, to: &reply)
        reply.append("]")
        reply.append(string: end.rawValue)
        finish(reply, to: session)
    }

    /// The newest comes first. A step that the client may not see counts as forgotten.
    private mutating func appendChain(
        of observable: ObservableHandle, limit: Int, for session: SessionHandle, to buffer: inout ByteBuffer
    ) -> ChainEnd {
        guard var current = newestEntry(of: observable) else {
            appendStep(nil, of: observable, to: &buffer)
            // The broker's own writes aren't remembered, and have no cause.
            return keyspace[observable].isReserved ? .root : .truncated
        }
        // How many observers may still be checked.
        var checks = ChainEnd.checksMax
        var left = limit
        appendStep(keyspace.history[current], of: observable, to: &buffer)
        while let cause = cause(of: current, &checks) {
            guard isSeen(cause, by: session) else { return .truncated }
            left -= 1
            guard left > 0 else { return .more }
            buffer.append(",")
            current = cause
            let entry = keyspace.history[current]
            appendStep(entry, of: entry.observable, to: &buffer)
        }
        return end(at: current)
    }

    private func isSeen(_ number: UInt64, by session: SessionHandle) -> Bool {
        sessions[session].authorize(.subscribe, keyspace[keyspace.history[number].observable].key)
    }

    /// The entry of the write that made the key's value, or of its last delete, emit or call.
    private mutating func newestEntry(of observable: ObservableHandle) -> UInt64? {
        guard keyspace[observable].hasValue else { return keyspace.lastEntry(of: observable) }
        let revision = keyspace[observable].revision
        let last = keyspace.history.last(of: revision, before: keyspace.history.count)
        // `shared` looks at 64 entries of a revision, but a batch may be longer.
        var next = last
        defer { insight.count(steps: Int((last ?? 0) - (next ?? 0)) / Cost.entriesPerStep) }
        while let number = next, keyspace.history[number].revision == revision {
            let entry = keyspace.history[number]
            if entry.observable == observable, entry.isChange { return number }
            next = number > keyspace.history.oldest ? number - 1 : nil
        }
        return nil
    }

    /// The entry that caused another. Of several entries with that revision, this is the last one that the
    /// writer observes, or serves if it is a call, as far as that is still known.
    private mutating func cause(of number: UInt64, _ checks: inout Int) -> UInt64? {
        guard let last = keyspace.history.cause(of: number) else { return nil }
        let candidates = keyspace.history.shared(with: last)
        if candidates.count == 1 { return last }
        let author = keyspace.history[number].author
        // It knows the revisions of its own writes as well, by the replies.
        var own: UInt64?
        for candidate in candidates {
            let entry = keyspace.history[candidate]
            let isKnown =
                entry.operation == .call
                ? isServed(entry.observable, by: author)
                : isObserved(entry.observable, by: author, &checks)
            if isKnown { return candidate }
            let isOwn = keyspace.authors[entry.author].client == keyspace.authors[author].client
            if own == nil, isOwn, entry.operation != .call { own = candidate }
        }
        return own ?? last
    }

    private func isServed(_ observable: ObservableHandle, by author: AuthorHandle) -> Bool {
        guard let service = calls.server(of: keyspace[observable].key),
            let server = sessions[service.session].signature
        else { return false }
        // A server that was started again, and the command that `serve` runs, are other clients.
        return keyspace.authors[author].client == keyspace.authors[server].client
            || keyspace.authors[author].name.isEqual(to: keyspace.authors[server].name)
    }

    private mutating func isObserved(
        _ observable: ObservableHandle, by author: AuthorHandle, _ checks: inout Int
    ) -> Bool {
        guard checks > 0 else { return false }
        refreshObservers(of: observable)
        let client = keyspace.authors[author].client
        let observers = matching.reach.observers(of: observable)
        let count = min(checks, observers.count)
        checks -= 1 + count
        for place in 0..<count where sessions[observers[place].session].client == client { return true }
        return false
    }

    private func end(at number: UInt64) -> ChainEnd {
        guard let cause = keyspace.history[number].cause.revision, keyspace.history.completeSince > 0 else {
            return .root
        }
        return cause <= keyspace.history.completeSince ? .truncated : .root
    }

    /// Without an entry, the value is older than the history. Then its time and operation are unknown.
    private func appendStep(
        _ entry: History.Entry?, of observable: ObservableHandle, to buffer: inout ByteBuffer
    ) {
        let extras = keyspace.extras(of: observable)
        buffer.append("{")
        buffer.append(member: "key", text: keyspace[observable].key, isFirst: true)
        buffer.append(member: "revision", entry?.revision ?? keyspace[observable].revision)
        if let entry { buffer.append(member: "op", text: entry.operation.name) }
        buffer.append(keyspace.authors.by(entry?.author ?? keyspace.writer(of: observable)))
        EventEncoder.appendReason(entry == nil ? extras.reason : entry?.reason, to: &buffer)
        if let entry { buffer.append(member: "when", when: entry.milliseconds) }
        (entry?.cause ?? extras.cause).append(to: &buffer)
        buffer.append("}")
    }
}

/// The member that says how a chain ends.
private enum ChainEnd: String {
    static let checksMax = 65_536

    /// At a write that names no cause, or an unknown one.
    case root = ""
    /// At a cause that is older than the history.
    case truncated = #","truncated":true"#
    case more = #","more":true"#
}
