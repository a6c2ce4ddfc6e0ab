// Batches. Before the first write is made, all writes are checked, and all patches and sums are calculated.
// So a batch is made whole or not at all, as one revision.

import PlugboardMemory
import PlugboardWire

/// The checks of a batch.
enum BatchCheck {
    /// Checks all writes, and leaves the plans in `requests.batch`.
    static func plan(
        _ asked: AskedRequest,
        _ requests: inout Requests,
        _ keyspace: inout Keyspace,
        _ matching: borrowing Matching,
        _ sessions: borrowing SessionTable,
        _ access: inout Access,
        _ supervision: borrowing Supervision
    ) throws(Refusal) {
        let line = asked.line
        requests.beginBatch()
        access.beginPlanning(for: sessions[asked.session])
        defer { access.endPlanning() }
        // The writes by the hashes of their keys. Two keys seldom have the same hash.
        var written: [UInt64: [Int]] = [:]
        for index in requests.decoder.writes.indices {
            let write = AskedRequest(requests.decoder.writes[index], line, from: asked.session)
            do throws(Refusal) {
                let planned = try WriteCheck.plan(write, &keyspace, matching, sessions, access, supervision)
                if write.request.operation != .emit {
                    for earlier in written[planned.hash, default: []]
                    where requests.decoder.writes[earlier].key.bytes(of: line).isEqual(to: write.key) {
                        throw writtenTwice(write.request, line)
                    }
                    written[planned.hash, default: []].append(index)
                }
                requests.plan(planned)
                guard write.request.operation.combines else { continue }
                let writer = write.session
                try WriteCheck.combine(planned, write, &requests, keyspace, sessions[writer], access)
                // Kept until the whole batch is known to be right.
                guard requests.keepMerged() else { throw tooMuchMerged }
            } catch {
                throw badKey(from: index, requests.decoder.writes, line) ?? error.ofWrite(index)
            }
        }
    }

    /// The refusal of the first malformed key among a refused write and those after it. Of several mistakes,
    /// a malformed key is reported first, and a conflict with the state later.
    private static func badKey(from index: Int, _ writes: [Request], _ line: Span<UInt8>) -> Refusal? {
        for (index, write) in writes.enumerated().dropFirst(index) {
            do throws(Refusal) {
                try Key.check(write.key, line)
            } catch {
                return error.ofWrite(index)
            }
        }
        return nil
    }

    private static var tooMuchMerged: Refusal {
        let most = Limits.outboxBytesMax
        return Refusal(.limit, "the values that a batch patches or adds to have at most \(most) bytes")
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
