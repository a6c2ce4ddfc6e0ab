// Writes what comes from etcd to the bus: all changes of one revision in one batch, with the cursor. If
// somebody wrote one of the keys in between, the bus refuses the batch, and the mirror decides again.

import PlugboardClient

/// A batch for the bus, and what it stands for.
private struct BusBatch {
    var writes: [Write] = []
    /// Records of lost writes.
    var records: [Write] = []
    var steps: [(step: MirrorStep, change: EtcdChange)] = []
    var bytes = 0
    var conflicts: [Int] = []
    /// The host in whose name it is made.
    var host: String?
    /// The keys, with the revision that each of them must have.
    var guards: [String: Int] = [:]
    /// It is the last batch of changes that are applied together.
    var isLast = false

    /// Whether this fits beside what is there. The first change always does, at least in two batches.
    func fits(_ step: MirrorStep, _ change: EtcdChange) -> Bool {
        guard !steps.isEmpty else { return true }
        var size = 512 + (change.value?.bytes.count ?? 0)
        if case .apply(_, let lost?) = step { size += 2 * (lost.value?.bytes.count ?? 0) + 1_024 }
        return bytes + size <= BridgeLimits.batchBytesMax
            && writes.count + records.count < BridgeLimits.batchWritesMax - 8
    }

    /// Whether the records have to go first, because all of it is more than a line.
    var needsTwo: Bool { !records.isEmpty && bytes > BridgeLimits.batchBytesMax }

    /// Its records as a batch of their own.
    mutating func takeRecords() -> BusBatch {
        let first = BusBatch(writes: records, conflicts: conflicts)
        (records, conflicts) = ([], [])
        return first
    }
}

/// How batches that are applied together move the cursor.
private enum CursorMove {
    /// Not at all.
    case none
    /// After them, the bus has everything of this revision.
    case revision(Int)
    /// They belong to a comparison with this revision, and may be its end.
    case comparison(Int, isEnd: Bool)

    /// The cursor after them.
    var end: Int? {
        switch self {
        case .revision(let revision), .comparison(let revision, isEnd: true): revision
        case .none, .comparison: nil
        }
    }
}

extension BridgeSession {
    /// Applies everything that happened in etcd at one revision, in the name of the host that made it.
    func apply(_ group: EtcdGroup) async throws {
        try await apply(group.changes[...], of: group.author, moving: .revision(group.revision))
    }

    /// Applies what a comparison found, each host's writes in its name. If there is a `revision`, the last
    /// batch moves the cursor there, and each earlier batch records how far the comparison has got.
    func apply(found changes: [EtcdChange], at revision: Int? = nil) async throws {
        var rest = changes.sorted(by: ComparedPart.precedes)[...]
        while let first = rest.first {
            let part = rest.prefix { $0.host == first.host }
            rest = rest.dropFirst(part.count)
            let move = revision.map { CursorMove.comparison($0, isEnd: rest.isEmpty) }
            try await apply(part, of: first.host, moving: move ?? .none)
        }
    }

    private func apply(_ changes: ArraySlice<EtcdChange>, of host: String?, moving move: CursorMove)
        async throws
    {
        try await exclusively {
            // What a change means depends on what the bus has.
            if !changes.isEmpty { try await beginReading() }
            var rest = changes
            repeat {
                rest = rest.dropFirst(try await applyPart(of: rest, by: host, moving: move))
            } while !rest.isEmpty
            if let end = move.end { mirror.advance(to: end) }
        }
        await hosts.closeDeparted()
        if mirror.isReady || mirror.needsFence { signal() }
    }

    /// Applies as many changes as fit into a batch, and returns how many. The last batch has the cursor.
    private func applyPart(of changes: ArraySlice<EtcdChange>, by host: String?, moving move: CursorMove)
        async throws -> Int
    {
        var before: [String: Int] = [:]
        for attempt in 0..<BridgeLimits.doubtfulAttemptsMax {
            if attempt >= BridgeLimits.attemptsMax { giveWay(changes, before) }
            var batch = BusBatch()
            for change in changes {
                let step = mirror.step(for: change)
                guard batch.fits(step, change) else { break }
                try add(change, step, to: &batch)
            }
            if attempt == 0 { before = batch.guards }
            batch.isLast = batch.steps.count == changes.count
            batch.host = host
            if try await make(batch, moving: move) { return batch.steps.count }
            try await catchUp(batch.guards)
        }
        throw BridgeRestart.refusedAgain(reason: lastRefusal ?? "")
    }

    private func add(_ change: EtcdChange, _ step: MirrorStep, to batch: inout BusBatch) throws {
        batch.steps.append((step, change))
        guard case .apply(let ifRevision, let lost) = step else { return }
        if let lost { try add(lost, to: &batch) }
        batch.guards[change.key] = ifRevision
        batch.bytes += change.key.utf8.count + (change.value?.bytes.count ?? 0) + 256
        if let value = change.value {
            batch.writes.append(try .publish(change.key, value, ifRevision: ifRevision, cause: nil))
        } else {
            batch.writes.append(.delete(change.key, ifRevision: ifRevision, cause: nil))
        }
        batch.writes[batch.writes.count - 1].origin = change.origin
    }

    /// Keeps a lost write, without its value if no line could have that. The last hundred are kept.
    private func add(_ lost: LostWrite, to batch: inout BusBatch) throws {
        let number = cursor.conflicts + batch.conflicts.count + 1
        var record = lost.json()
        if Obstacle(value: record) != nil {
            record = lost.json(withValue: false)
            health.say("\(lost.key): the lost write is too large to be kept with its value")
        }
        batch.records.append(try .publish(settings.keys.conflict(number), record, cause: nil))
        let isLarge = record.bytes.count > BridgeLimits.batchBytesMax / 8
        batch.records.append(
            try .emit(settings.keys.conflict, isLarge ? lost.json(withValue: false) : record, cause: nil)
        )
        batch.conflicts.append(number)
        let tooMany = kept.count + batch.conflicts.count - BridgeLimits.conflictsMax
        if tooMany > kept.count {
            // It hasn't been written yet.
            let first = settings.keys.conflict(batch.conflicts[tooMany - kept.count - 1])
            batch.records.removeAll { $0.key == first }
        } else if tooMany > 0 {
            batch.records.append(.delete(settings.keys.conflict(kept[tooMany - 1]), cause: nil))
        }
        batch.bytes += record.bytes.count * 2 + 512
    }

    /// Makes the batch. Returns false if the bus refused it because a key was written meanwhile.
    private func make(_ batch: BusBatch, moving move: CursorMove) async throws -> Bool {
        guard !batch.writes.isEmpty else {
            take(batch, at: nil)
            return true
        }
        var batch = batch
        do {
            if batch.needsTwo {
                let records = batch.takeRecords()
                try await write(records.writes, nextCursor(after: records, moving: .none), of: nil) { _ in
                    keep(records.conflicts)
                }
            }
            try await write(
                batch.records + batch.writes, nextCursor(after: batch, moving: move), of: batch.host
            ) {
                keep(batch.conflicts)
                take(batch, at: $0)
            }
            return true
        } catch let error as BusError where error.code == .conflict || error.code == .notFound {
            lastRefusal = "\(error)"
            return false
        }
    }

    /// Makes a batch that has the cursor.
    private func write(_ writes: [Write], _ next: BridgeCursor, of host: String?, done: (Int) -> Void)
        async throws
    {
        let last = try Write.publish(settings.keys.cursor, next.json, ifRevision: cursorRevision, cause: nil)
        try await write(writes + [last], of: host) { revision in
            (cursor, flushed, cursorRevision) = (next, next, revision)
            done(revision)
        }
    }

    /// Notes what became of the changes of a batch.
    private func take(_ batch: BusBatch, at revision: Int?) {
        for (step, change) in batch.steps { mirror.take(step, change, revision: revision) }
        health.note(batch.steps)
        for case (.apply(_, let lost?), _) in batch.steps { health.tell(lost) }
    }

    /// Notes that records are kept on the bus.
    private func keep(_ conflicts: [Int]) {
        kept += conflicts
        kept.removeFirst(max(0, kept.count - BridgeLimits.conflictsMax))
    }

    /// Waits for the events of the write that came in between.
    private func catchUp(_ guards: [String: Int]) async throws {
        for _ in 0..<500 {
            for (key, revision) in guards where (mirror.keys[key]?.ifRevision ?? 0) != revision { return }
            try await Task.sleep(for: .milliseconds(2))
        }
        guard try await bus.entry(settings.keys.cursor)?.revision ?? 0 == cursorRevision else {
            throw BridgeRestart.cursorTaken
        }
    }

    /// Somebody keeps writing a key, faster than the bridge. Then that write counts as the newer one.
    private func giveWay(_ changes: ArraySlice<EtcdChange>, _ before: [String: Int]) {
        for change in changes {
            guard let revision = before[change.key], mirror.keys[change.key]?.isOwed == true,
                mirror.keys[change.key]?.ifRevision != revision
            else { continue }
            mirror.yield(to: change)
        }
    }

    // MARK: The cursor

    private func nextCursor() -> BridgeCursor {
        var next = cursor
        next.etcd = mirror.cursor
        next.settled = mirror.settled
        next.refused = mirror.refused.isEmpty ? nil : mirror.refused
        return next
    }

    private func nextCursor(after batch: BusBatch, moving move: CursorMove) -> BridgeCursor {
        var next = nextCursor()
        next.conflicts += batch.conflicts.count
        if batch.isLast, let end = move.end {
            next.etcd = max(next.etcd, end)
        } else if case .comparison(let revision, _) = move, let last = batch.steps.last?.change {
            next.compared = ComparedPart(last, at: revision).following(next.compared ?? [])
        }
        return next
    }

    /// Writes the cursor if it has moved although nothing was written to the bus.
    func flush() async throws {
        try await exclusively {
            let next = nextCursor()
            guard next != flushed else { return }
            let key = settings.keys.cursor
            do {
                cursorRevision = try await bus.publish(key, next.json, ifRevision: cursorRevision, cause: nil)
            } catch let error as BusError where error.code == .conflict {
                throw BridgeRestart.cursorTaken
            }
            (cursor, flushed) = (next, next)
        }
    }
}
