// One thread that publishes and observes. It counts every message at the least cost: it writes bytes that
// were made before, reads much at a time, and counts line feeds. A window limits what is on its way. At
// the end of a run, nothing is.

import PlugboardMemory
import PlugboardPosix

/// The result of one run.
struct RunCount {
    var messages = 0
    var deliveries = 0
    var wallNanoseconds: UInt64 = 0
    var generatorNanoseconds: UInt64 = 0
    /// The time from each write until every observer had read it, or until its answer came. Empty unless
    /// the row measures that.
    var roundTrips: [UInt64] = []
}

/// The publishers and observers of a workload. They are connected and subscribed. Only one thread uses
/// it.
final class LoadGenerator {
    private static let inputBytes = 262_144
    private static let patienceMilliseconds: Int32 = 20_000
    private static let signalToken = UInt64.max

    private let workload: Workload
    private let poller: any Poller
    /// What was read last.
    private var input = [UInt8](repeating: 0, count: inputBytes)
    private var publishers: [LoadPublisher]
    private var observers: [LoadObserver]
    /// Connections whose events are read and ignored.
    private var drained: [LoadLink] = []
    private var window: SendWindow
    private var startedNanoseconds: UInt64 = 0
    private var roundTrips: [UInt64] = []

    /// Takes over connections that are set up. A signal interrupts a run.
    init(
        _ workload: Workload, _ publishers: [LoadPublisher], _ observers: [LoadObserver], _ signals: Signals?
    ) throws {
        self.workload = workload
        self.publishers = publishers
        self.observers = observers
        poller = try PollerKind.standard.make()
        window = SendWindow(workload)
        if let signals { try poller.add(signals.raw, token: Self.signalToken, interest: .read) }
        for (index, link) in (publishers.map(\.link) + observers.map(\.link)).enumerated() {
            try poller.add(link.fd, token: UInt64(index), interest: .read)
        }
    }

    /// Reads and ignores what arrives on a connection, in all later runs.
    func drain(_ link: LoadLink) throws {
        let token = UInt64(publishers.count + observers.count + drained.count)
        try poller.add(link.fd, token: token, interest: .read)
        drained.append(link)
    }

    /// The text at the end of the value that was published last; nil if there are several publishers.
    var lastMark: String? { publishers.count == 1 ? publishers.first?.lastMark : nil }

    /// After this many batches, every key was published at least once.
    var batchesOfScript: Int { publishers.reduce(0) { $0 + $1.script.batches } }

    /// Publishes for a time, and at least `batchesMin` batches, then waits until everything has arrived.
    /// Throws `BenchError` if something was lost or nothing moves.
    func run(nanoseconds: UInt64, batchesMin: Int = 1) throws -> RunCount {
        for index in publishers.indices { publishers[index].clearCounts() }
        for index in observers.indices { observers[index].clearCounts() }
        window = SendWindow(workload)
        roundTrips.removeAll(keepingCapacity: true)
        let cpuBefore = try ProcessUsage.threadNanoseconds()
        let start = MonotonicClock.nanoseconds()
        var now = start
        while true {
            let isClosing = now - start >= nanoseconds && window.sent >= batchesMin
            if isClosing, window.isEmpty, publishers.allSatisfy(\.isIdle) { break }
            if !isClosing { try publish() }
            try turn()
            now = MonotonicClock.nanoseconds()
        }
        let messages = window.sent * workload.batch
        try checkLast()
        return RunCount(
            messages: messages,
            deliveries: messages * workload.deliveriesPerMessage,
            wallNanoseconds: now - start,
            generatorNanoseconds: try ProcessUsage.threadNanoseconds() - cpuBefore,
            roundTrips: roundTrips
        )
    }

    /// Writes what the window allows, one batch at a time.
    private func publish() throws {
        for index in publishers.indices {
            while mayBegin(publishers[index]) {
                if workload.isTimed { startedNanoseconds = MonotonicClock.nanoseconds() }
                guard try publishers[index].write() else {
                    try watch(index)
                    break
                }
                window.noteSent()
            }
        }
    }

    private func mayBegin(_ publisher: LoadPublisher) -> Bool {
        !publisher.isMidBatch && window.isOpen(sent: publisher.sent, answered: publisher.answered)
    }

    private func turn() throws {
        var failure: (any Error)?
        var moved = false
        try poller.wait(milliseconds: Self.patienceMilliseconds) { ready in
            moved = true
            do { try handle(ready) } catch { failure = error }
        }
        if let failure { throw failure }
        if !moved {
            throw BenchError.stalled("\(window.sent) batches sent, \(window.reached) reached every observer")
        }
    }

    private func handle(_ ready: Readiness) throws {
        if ready.token == Self.signalToken { throw BenchError.interrupted }
        let index = Int(ready.token)
        if index < publishers.count {
            if ready.canRead { try receiveAnswers(index) }
            if ready.canWrite { try goOn(index) }
        } else if index < publishers.count + observers.count {
            try receive(index - publishers.count)
        } else {
            _ = try read(drained[index - publishers.count - observers.count])
        }
    }

    private func receiveAnswers(_ index: Int) throws {
        guard let count = try read(publishers[index].link) else { return }
        let before = publishers[index].answered
        publishers[index].take(input.span[..<count])
        let ends = workload.operation == .call || workload.measure == .snapshot
        if ends, publishers[index].answered > before { noteRoundTrip() }
    }

    private func receive(_ index: Int) throws {
        guard let count = try read(observers[index].link) else { return }
        let before = observers[index].batches
        let answers = observers[index].take(input.span[..<count])
        if !answers.isEmpty { try observers[index].link.send(answers) }
        guard workload.tellsEach else { return }
        let reachedBefore = window.reached
        window.noteArrival(before: before, now: observers[index].batches)
        if workload.operation == .publish, window.reached > reachedBefore { noteRoundTrip() }
    }

    private func noteRoundTrip() {
        guard workload.isTimed else { return }
        roundTrips.append(MonotonicClock.nanoseconds() - startedNanoseconds)
    }

    /// How many bytes have arrived; nil if there are none. They stay in `input` until the next call.
    private func read(_ link: LoadLink) throws -> Int? { try Self.read(link, &input) }

    private static func read(_ link: LoadLink, _ input: inout [UInt8]) throws -> Int? {
        var room = input.mutableSpan
        return try DescriptorCalls.read(link.fd, into: &room).count("receive")
    }

    private func goOn(_ index: Int) throws {
        if publishers[index].isMidBatch, try publishers[index].write() { window.noteSent() }
        try watch(index)
    }

    private func watch(_ index: Int) throws {
        let interest: Interest = publishers[index].isMidBatch ? [.read, .write] : .read
        try poller.change(publishers[index].link.fd, token: UInt64(index), interest: interest)
    }

    /// Checks that the last message of each observer is the one that was published last.
    private func checkLast() throws {
        guard workload.isPlain, let lastMark else { return }
        for observer in observers where !observer.lastBytesContain(lastMark) {
            throw BenchError.unexpected("an observer's last message is not the last published")
        }
    }
}
