// Batches: every write is checked, and every patch and sum made, before the first is made,
// so that a batch is made whole or not at all, under one revision.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func writeBatch(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        requests.beginBatch()
        access.beginPlanning(for: sessions[session])
        defer { access.endPlanning() }
        try planAll(line, session)
        if request.isDurable { try durability.checkDurable(awaited: sessions[session].awaitedWrites) }
        let bytes = line.count + requests.batch.mergedCount
        if !durability.hasRoom(for: bytes) {
            try durability.makeRoom(for: bytes, isBatch: true, revision: revision)
        }
        if requests.decoder.writes.contains(where: { $0.operation != .emit }) { keyspace.advance() }
        durability.beginBatch(revision: revision)
        for index in requests.batch.writes.indices { commitWrite(at: index, line, session) }
        durability.endBatch()
        replyWritten(request, line, session)
    }

    private mutating func planAll(
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        // The writes by the hashes of their keys. Two keys seldom have the same hash.
        var written: [UInt64: [Int]] = [:]
        for index in requests.decoder.writes.indices {
            let write = requests.decoder.writes[index]
            do throws(Refusal) {
                let planned = try plan(write, line, session)
                if write.operation != .emit {
                    let key = write.key.bytes(of: line)
                    for earlier in written[planned.hash, default: []]
                    where requests.decoder.writes[earlier].key.bytes(of: line).isEqual(to: key) {
                        throw Self.writtenTwice(write, line)
                    }
                    written[planned.hash, default: []].append(index)
                }
                requests.plan(planned)
                try combineIfNeeded(write, planned, line, session)
            } catch {
                throw badKey(from: index, line) ?? error.ofWrite(index)
            }
        }
    }

    /// The first key that is none, from a write on that was refused: of several mistakes that is
    /// told before what the state has to say.
    private func badKey(from index: Int, _ line: Span<UInt8>) -> Refusal? {
        for (index, write) in requests.decoder.writes.enumerated().dropFirst(index) {
            do throws(Refusal) {
                try Key.check(write.key, line)
            } catch {
                return error.ofWrite(index)
            }
        }
        return nil
    }

    /// Keeps what a patch or a sum comes to aside until the whole batch is known to be good.
    private mutating func combineIfNeeded(
        _ write: Request,
        _ planned: PlannedWrite,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        guard write.operation.combines else { return }
        try combine(planned, write, line, session)
        guard requests.keepMerged() else {
            throw Refusal(
                .limit,
                "the values that a batch patches or adds to have at most \(Limits.outboxBytesMax) bytes"
            )
        }
    }

    /// An observable that an earlier write of the batch made or let go of is looked up anew.
    private mutating func commitWrite(
        at index: Int,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) {
        let write = requests.decoder.writes[index]
        let hash = requests.batch.writes[index].hash
        let observable = keyspace.find(write.key.bytes(of: line), hash: hash)
        let planned = PlannedWrite(hash: hash, observable: observable)
        let value =
            write.operation.combines
            ? requests.batch.value(at: index).kept : write.value.bytes(of: line)
        commit(planned, write, value: value, line, session, reason: nil)
    }

    private static func writtenTwice(_ write: Request, _ line: Span<UInt8>) -> Refusal {
        let message = "\"\(write.key.excerpt(of: line))\" is written twice in this batch"
        return Refusal(
            .conflict,
            message,
            hint: "a batch is one revision: write each key once",
            at: write.key.start
        )
    }
}
