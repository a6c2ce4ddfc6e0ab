// A journal with a state beside it, as in a broker. Tests write to it, kill it and open it
// again.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport

@testable import PlugboardJournal

/// The values of a bus by key: JSON and revision.
typealias State = [String: Held]

struct Held: Equatable, CustomStringConvertible {
    var value: String
    var revision: UInt64
    var by: String
    /// When it was written, in seconds since 1970.
    var seconds: UInt32
    var description: String { "\(value)@\(revision) by \(by) at \(seconds)" }
}

/// A small bus. It writes as the broker does.
final class TestJournal {
    let disk: SimulatedDisk
    private(set) var state: State
    private(set) var revision: UInt64
    let epoch: String
    let recovered: Recovered
    private(set) var synced: JournalMark = 0
    private(set) var news: [JournalNews] = []
    private var records: RecordBuffer
    private let writer: JournalWriter
    /// So many keys fewer are given than were promised.
    var missingKeys = 0
    static let when: UInt64 = 1_763_730_300_123

    /// Opens the journal on the disk.
    init(
        _ disk: SimulatedDisk,
        options: JournalOptions = .small,
        boot: String = "boot-1",
        newEpoch: String = "e1",
        worker: (any JournalWorker)? = nil,
        time: TimeSource = .system
    ) throws {
        self.disk = disk
        var records = RecordBuffer(clock: { Self.when })
        var state: State = [:]
        var revision: UInt64 = 0
        let opened = try Journal.open(
            disk,
            worker: worker ?? ImmediateWorker(disk),
            options: options,
            boot: boot,
            time: time,
            newEpoch: { newEpoch },
            records: &records
        ) { record, line in
            Self.apply(record, line, to: &state)
            revision = record.revision
        }
        self.state = state
        self.revision = max(revision, opened.0.revision)
        (recovered, writer, epoch) = opened
        self.records = records
        self.records.liveBytes = state.reduce(0) { $0 + Self.recordBytes($1.key, $1.value) }
        _ = beginSnapshot()
        try writer.settleFirst(&self.records)
        while beginSnapshot() { try writer.keepRoom(&self.records) }
    }

    /// About how many bytes a record of a value has.
    static func recordBytes(_ key: String, _ held: Held) -> Int {
        key.utf8.count + held.value.utf8.count + held.by.utf8.count + 100
    }

    var liveBytes: Int { records.liveBytes }
    /// Bytes that were written for commits.
    private(set) var recordedBytes = 0

    static func apply(_ record: RecordLine, _ line: Span<UInt8>, to state: inout State) {
        let key = String(record.key.bytes(of: line))
        guard record.kind == .update else {
            state[key] = nil
            return
        }
        state[key] = Held(
            value: String(record.value.bytes(of: line)),
            revision: record.revision,
            by: String(record.by.bytes(of: line)),
            seconds: record.seconds
        )
    }

    var mark: JournalMark { records.commits }
    /// Whether nothing waits to be written.
    var isWritten: Bool { records.isEmpty }
    var isFull: Bool { records.room <= 0 }

    func publish(_ key: String, _ value: String, by: String = "me") {
        revision += 1
        commit(key, value, by)
    }

    func delete(_ key: String, by: String = "me") {
        revision += 1
        commit(key, nil, by)
    }

    func batch(_ writes: [(key: String, value: String?)]) {
        revision += 1
        records.beginBatch(revision: revision)
        for write in writes { commit(write.key, write.value, "me") }
        records.endBatch()
    }

    private func commit(_ key: String, _ value: String?, _ by: String) {
        let old = state[key].map { Self.recordBytes(key, $0) } ?? 0
        let when = Self.when + revision * 500
        let seconds = UInt32(when / 1_000)
        state[key] = value.map { Held(value: $0, revision: revision, by: "\"\(by)\"", seconds: seconds) }
        let new = state[key].map { Self.recordBytes(key, $0) } ?? 0
        records.liveBytes = liveBytes + new - old
        let before = records.count
        defer { recordedBytes += records.count - before }
        let name = Array(key.utf8)
        var author = ByteBuffer()
        EventEncoder.appendAuthor(name: Array(by.utf8).span, to: &author)
        let text = Array((value ?? "").utf8)
        var commit = Commit(key: name.span, revision: revision, value: text.span, by: author.bytes)
        commit.when = when
        records.append(commit)
    }

    /// Asks for room, as a broker does before a write.
    func hasRoom(for bytes: Int) throws -> Bool {
        if records.hasRoom(for: bytes) { return true }
        var hasRoom = false
        repeat {
            let needed = RecordBuffer.needed(for: bytes)
            hasRoom = try writer.makeRoom(&records, needed: needed, revision: revision)
        } while beginSnapshot() && !hasRoom
        return hasRoom
    }

    /// Ends a turn. From here on, clients may have been told of it.
    func endTurn() throws {
        try writer.flush(&records, revision: revision)
        while beginSnapshot() { try writer.keepRoom(&records) }
        try takeNews()
    }

    /// Makes a snapshot, if it is time for one. Returns whether a segment has ended.
    private func beginSnapshot() -> Bool {
        guard writer.hasEndedSegment else { return false }
        let keys = state.count + missingKeys
        guard var snapshot = writer.beginSnapshot(keys: keys, live: liveBytes) else { return true }
        for (key, held) in state.sorted(by: { $0.key < $1.key }) {
            Self.give(key, held) { snapshot.append($0) }
        }
        writer.end(snapshot)
        return true
    }

    private static func give(_ key: String, _ held: Held, _ body: (borrowing Commit) -> Void) {
        let name = Array(key.utf8)
        var value = ByteBuffer()
        var author = ByteBuffer()
        value.append(string: held.value)
        author.append(string: #","by":"# + held.by)
        var commit = Commit(key: name.span, revision: held.revision, value: value.bytes, by: author.bytes)
        commit.when = UInt64(held.seconds) * 1_000
        body(commit)
    }

    /// Asks for a sync. `waiting` is how many replies wait for it.
    func sync(for waiting: Int = .max) throws {
        try writer.wantSync(for: waiting)
        try takeNews()
    }

    func tick() throws {
        try writer.tick(&records)
        while beginSnapshot() { try writer.keepRoom(&records) }
        try takeNews()
    }

    /// How many bytes a second clients should write.
    var pressure: Int? { writer.pressure }
    /// What the disk has yet to take.
    var waitingBytes: Int { writer.lag.waiting }

    /// Does what a broker does if its disk has failed.
    func fail() { writer.noteFailure() }

    func close() throws {
        try writer.close(&records, revision: revision)
    }

    private func takeNews() throws {
        let fresh = try writer.takeNews(&records)
        for case .synced(let mark) in fresh { synced = mark }
        news += fresh
    }
}

/// The place of the damage for which a journal isn't opened; nil if it is opened.
func damage(_ open: () throws -> Void) throws -> JournalPlace? {
    do {
        try open()
        return nil
    } catch JournalError.damaged(let place, _) {
        return place
    }
}

extension JournalOptions {
    /// Makes files so small that a few records make many of them.
    static let small = JournalOptions(
        sync: .never, historyBytes: 600, segmentBytes: 500...500, slackBytes: 900
    )
    static let plain = JournalOptions(sync: .never)
}
