// Groups a recording's lines into events that happened at once: the writes of a batch, which have one
// revision, or a single event. It needs bounded memory for any content of the file.

import PlugboardWire

/// Reads a recording from front to back.
struct RecordingReader: ~Copyable {
    /// The limit for lines that belong together. More lines than fit a batch become several
    /// batches.
    private static let togetherBytesMax = 4 * Limits.lineBytesMax
    /// How long to wait for the rest of a batch whose lines come slowly, from a pipe.
    private static let graceMilliseconds: Int32 = 20
    /// How long a batch that comes in pieces may take.
    private static let togetherMilliseconds = 1.0
    /// How many calls are remembered at least.
    private static let callsMax = 32_768

    /// Waits for the file; false if the time (negative: for ever) passes first.
    typealias Wait = (_ fd: Int32, _ milliseconds: Int32) throws -> Bool

    /// For messages.
    var name: String { lines.name }
    /// The last line that was read.
    private(set) var number = 0
    /// Events that were read.
    private(set) var events: UInt64 = 0
    /// The time of the last event.
    private(set) var milliseconds = 0.0
    /// Whether the first line says what this is; a part of a recording may lack it.
    private(set) var hasHeader = false
    /// Events that the recording says it lacks.
    private(set) var missing: UInt64 = 0
    /// Whether the file ends within this line.
    private(set) var cut: RecordingFault?

    private let check: (RecordedEvent) -> String?
    private var lines: FileLines
    private var gaps = 0
    /// The causes of calls, whose effects name the calls: of the last ones, and of those before.
    private var calls: [RecordedCall: UInt64?] = [:]
    private var olderCalls: [RecordedCall: UInt64?] = [:]
    private var held: RecordedEvent?
    /// A fault to throw after everything before it has been returned.
    private var fault: RecordingFault?
    /// The revision of the line that can't be read, if it has one.
    private var lostRevision: UInt64?
    private var isEnded = false

    /// Opens a file; `-` is standard input. `check` says why an event can't be played.
    init(path: String, check: @escaping (RecordedEvent) -> String? = { _ in nil }) throws {
        self.check = check
        lines = try FileLines(path: path)
    }

    /// The file's size is known.
    var isRegular: Bool { lines.bytesTotal != nil }

    /// Whether all lines read so far have been returned, so that the next one may take long.
    var mustWait: Bool { held == nil && lines.mustWait }

    /// The events that happened at once next; nil at the end. Throws `RecordingFault` for the first line that
    /// isn't one of a recording.
    mutating func next(_ wait: Wait) throws -> [RecordedEvent]? {
        guard let first = try held ?? event(wait) else { return try end() }
        held = nil
        var together = [first]
        var bytes = first.value?.count ?? 0
        while together.count < Limits.batchWritesMax, bytes < Self.togetherBytesMax {
            if lines.mustWait, try !wait(lines.fd, Self.graceMilliseconds) { break }
            guard let event = try event(wait) else { return isHalf(together) ? try end() : together }
            guard Self.belongs(event, to: together) else {
                held = event
                break
            }
            together.append(event)
            bytes += event.value?.count ?? 0
        }
        return together
    }

    /// The writes of a batch have one revision and one writer, and no other write has that
    /// revision. An emit has the current revision. So an emit that came with the batch is part of
    /// it, and one that came later isn't.
    private static func belongs(_ event: RecordedEvent, to together: [RecordedEvent]) -> Bool {
        guard let first = together.first, event.revision == first.revision, event.by == first.by,
            event.isInitial == first.isInitial, event.gapsBefore == first.gapsBefore
        else { return false }
        if event.kind != .emit { return !together.contains { $0.key == event.key && $0.kind != .emit } }
        return event.milliseconds - first.milliseconds <= togetherMilliseconds
            && together.contains { $0.kind != .emit }
    }

    /// The next event, skipping other lines; nil at the end, or at a wrong line.
    private mutating func event(_ wait: Wait) throws -> RecordedEvent? {
        while !isEnded, let line = try lines.next({ fd in _ = try wait(fd, -1) }) {
            if line.isIgnored { continue }
            let isFirst = number == 0
            number = line.number
            switch parsed(line, isFirst) {
            case .header where isFirst: hasHeader = true
            case .header: fail(line, "another recording begins here")
            case .event(let event):
                guard let reason = check(event) else { return taken(event) }
                fail(line, reason)
            case .gap:
                gaps += 1
                (calls, olderCalls) = ([:], [:])
            case .call(let call, let cause): note(call, cause)
            case .missing(let count): lack(count)
            case .aside, nil: break
            }
        }
        if number == 0 { fault = RecordingFault(nil, "it is empty, and no recording") }
        isEnded = true
        return nil
    }

    private mutating func taken(_ event: RecordedEvent) -> RecordedEvent {
        var event = event
        event.gapsBefore = gaps
        // A call isn't played, so what it led to has the call's own cause.
        if let revision = event.cause, let writer = event.by,
            let cause = cause(of: RecordedCall(revision: revision, server: writer))
        {
            event.cause = cause
        }
        // An emit may have the revision of a call before it. Then it is the likelier cause.
        if event.kind == .emit { forget(.ofAnyUnnamed(event.revision)) }
        events += 1
        lack(event.skipped)
        milliseconds = max(milliseconds, event.milliseconds)
        return event
    }

    private mutating func note(_ call: RecordedCall, _ cause: UInt64?) {
        if calls.count >= Self.callsMax { (calls, olderCalls) = ([:], calls) }
        calls[call] = .some(cause)
        if call.isUnnamed { calls[.ofAnyUnnamed(call.revision)] = .some(cause) }
    }

    private mutating func forget(_ call: RecordedCall) {
        calls[call] = nil
        olderCalls[call] = nil
    }

    /// The cause of a call, which may be nil; nil if there was no such call. If this server has no name and
    /// wasn't called, another one's call counts: its command has another number.
    private func cause(of call: RecordedCall) -> UInt64?? {
        if let cause = calls[call] ?? olderCalls[call] { return cause }
        guard call.isUnnamed else { return nil }
        let any = RecordedCall.ofAnyUnnamed(call.revision)
        return calls[any] ?? olderCalls[any]
    }

    /// Adds to the sum without an overflow, because a file can have any numbers.
    private mutating func lack(_ count: UInt64) {
        missing += min(count, .max - missing)
    }

    /// The content of a line; nil if it is wrong, or the file ends within it.
    private mutating func parsed(_ line: FileLines.Line, _ isFirst: Bool) -> RecordedLine? {
        do throws(JSONFault) {
            return try RecordedLine(line)
        } catch {
            fail(line, (isFirst ? "no recording: " : "") + error.message, isCut: !line.isEnded && !isFirst)
            return nil
        }
    }

    private mutating func fail(_ line: FileLines.Line, _ message: String, isCut: Bool = false) {
        isEnded = true
        lostRevision = line.bytes.flatMap { RecordedLine.revision(inCut: $0) }
        let fault = RecordingFault(line.number, message)
        if isCut { cut = fault } else { self.fault = fault }
    }

    private func end() throws -> [RecordedEvent]? {
        if let fault { throw fault }
        return nil
    }

    /// The line that can't be read may belong to this batch. A batch that may be incomplete is not played.
    private func isHalf(_ together: [RecordedEvent]) -> Bool {
        guard cut != nil || fault != nil else { return false }
        return lostRevision == nil || lostRevision == together.last?.revision
    }
}

/// A line that doesn't belong in a recording.
struct RecordingFault: Error, Sendable {
    /// The number of the line; nil if the whole file is wrong.
    let number: Int?
    let message: String

    init(_ number: Int?, _ message: String) {
        self.number = number
        self.message = message
    }

    /// The command's error, which also says what became of the other lines.
    func error(in name: String, _ rest: String) -> CommandError {
        CommandError(.refused, "\(name)\(number.map { ":\($0)" } ?? ""): \(message); \(rest)")
    }
}
