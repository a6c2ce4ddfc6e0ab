// Batches: every write is checked and every patch merged before the first is made,
// so that a batch is made whole or not at all, under one revision.

import PlugboardMemory
import PlugboardWire

extension Hub {
    mutating func writeBatch(
        _ request: Request,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        batch.removeAll()
        access.beginPlanning(for: sessions[session])
        defer { access.endPlanning() }
        try planAll(line, session)
        if request.isDurable { try durability.checkDurable(awaited: sessions[session].awaitedWrites) }
        let bytes = line.count + batch.mergedBytes.count
        if !durability.hasRoom(for: bytes) {
            try durability.makeRoom(for: bytes, isBatch: true, revision: revision)
        }
        if decoder.writes.contains(where: { $0.operation != .emit }) { keyspace.advance() }
        durability.beginBatch(revision: revision)
        for index in batch.writes.indices { commitWrite(at: index, line, session) }
        durability.endBatch()
        replyWritten(request, line, session)
    }

    private mutating func planAll(
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        // The writes by the hashes of their keys. Two keys seldom have the same hash.
        var written: [UInt64: [Int]] = [:]
        for index in decoder.writes.indices {
            let write = decoder.writes[index]
            do throws(Refusal) {
                let planned = try plan(write, line, session)
                if write.operation != .emit {
                    for earlier in written[planned.hash, default: []]
                    where decoder.writes[earlier].key.bytes(of: line).isEqual(to: write.key.bytes(of: line)) {
                        throw Self.writtenTwice(write, line)
                    }
                    written[planned.hash, default: []].append(index)
                }
                batch.writes.append(planned)
                try mergeIfPatch(write, planned, line, session)
            } catch {
                throw badKey(from: index, line) ?? error.ofWrite(index)
            }
        }
    }

    /// The first key that is none, from a write on that was refused: of several mistakes that is
    /// told before what the state has to say.
    private func badKey(from index: Int, _ line: Span<UInt8>) -> Refusal? {
        for (index, write) in decoder.writes.enumerated().dropFirst(index) {
            do throws(Refusal) {
                try Key.check(write.key, line)
            } catch {
                return error.ofWrite(index)
            }
        }
        return nil
    }

    /// Keeps a patch's result aside until the whole batch is known to be good.
    private mutating func mergeIfPatch(
        _ write: Request,
        _ planned: PlannedWrite,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) throws(Refusal) {
        guard write.operation == .patch else { return batch.merged.append(.none) }
        try mergePatch(planned, write, line, session)
        guard batch.mergedBytes.count + scratch.count <= Limits.outboxBytesMax else {
            throw Refusal(.limit, "the patched values of a batch have at most \(Limits.outboxBytesMax) bytes")
        }
        batch.merged.append(ByteRange(batch.mergedBytes.count, batch.mergedBytes.count + scratch.count))
        batch.mergedBytes.append(contentsOf: scratch)
    }

    /// An observable that an earlier write of the batch made or let go of is looked up anew.
    private mutating func commitWrite(
        at index: Int,
        _ line: Span<UInt8>,
        _ session: SessionHandle
    ) {
        let write = decoder.writes[index]
        let hash = batch.writes[index].hash
        let observable = keyspace.find(write.key.bytes(of: line), hash: hash)
        let planned = PlannedWrite(hash: hash, observable: observable)
        let value =
            write.operation == .patch
            ? batch.merged[index].bytes(of: batch.mergedBytes.bytes).kept : write.value.bytes(of: line)
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

/// The batch under way: what its writes come to, once all are checked.
struct PlannedBatch: ~Copyable {
    var writes: [PlannedWrite] = []
    /// The results of its patches within `mergedBytes`, a range for each write.
    var merged: [ByteRange] = []
    var mergedBytes = ByteBuffer()

    /// Forgets the batch and keeps the memory.
    mutating func removeAll() {
        writes.removeAll(keepingCapacity: true)
        merged.removeAll(keepingCapacity: true)
        mergedBytes.removeAll()
    }
}
