// The subscriptions of a command as long as it runs, over several connections if needed. When the broker is
// gone, the command waits for it and repeats all its requests. Subscriptions resume where they were, so
// nothing comes twice, and a `gap` shows where something may be missing.

import PlugboardPosix
import PlugboardWire

/// Subscriptions that outlive the broker. Used by one thread.
final class ResumingConnection {
    /// Messages for a person.
    enum News {
        /// The broker is gone for this reason, and the command waits for it.
        case apart(reason: String)
        /// The broker is there again.
        case back(isWhole: Bool)
    }

    private static let firstPauseSeconds = 0.05
    private static let pauseSecondsMax = 2.0

    let connection: BrokerConnection
    private let parent = ParentProcess()
    /// Whether there is no broker now.
    private(set) var isApart = false
    private let comesBack: Bool
    private let tell: (News) -> Void
    private var standing: [ResumableRequest] = []
    /// Lines that came before the caller asked for them.
    private var early: ArraySlice<BrokerLine> = []
    private var pauseSeconds = firstPauseSeconds
    private var due = TimeLimit(seconds: 0)

    /// Reports on standard error when the broker goes and comes back.
    convenience init(_ invocation: Invocation, _ console: CommandConsole) throws {
        self.init(try BrokerConnection.open(invocation), comesBack: !invocation.has(.noReconnect)) {
            console.say($0.text)
        }
    }

    /// Without `comesBack`, the command ends when the broker does.
    init(_ connection: BrokerConnection, comesBack: Bool, tell: @escaping (News) -> Void) {
        self.connection = connection
        self.comesBack = comesBack
        self.tell = tell
    }

    /// Sends a request, now and on each later connection. Throws the broker's refusal.
    @discardableResult
    func ask(_ request: ResumableRequest) throws -> BrokerLine {
        standing.append(request)
        return try perform(standing.count - 1, isFirst: true)
    }

    /// Whether a line has come already.
    var hasLine: Bool { !early.isEmpty || !isApart && connection.hasLine }

    /// The next line, or nil: none came within the time (negative: for ever), or there is no broker.
    func nextLine(milliseconds: Int32) throws -> BrokerLine? {
        if let line = early.popFirst() { return line }
        if isApart {
            try awaitBroker(milliseconds)
            return nil
        }
        return try bridging {
            guard let line = try connection.nextLine(milliseconds: milliseconds) else { return }
            early += sorted(line)
        }
    }

    /// Sends a request that isn't repeated: it is lost with the connection.
    func send(_ request: ObjectWriter) throws {
        guard !isApart else { return }
        _ = try bridging { try connection.send(request.line(id: 0)) }
    }

    /// Ends pauses of its subscriptions, which other clients may have made. What they hold comes now.
    func release() throws {
        for request in standing {
            if let sub = request.sub { try send(ObjectWriter(op: "resume").adding("sub", sub)) }
        }
    }

    /// Does something with the connection. If the connection is lost, the wait for the next one begins.
    /// Returns the first line that there is then.
    private func bridging(_ body: () throws -> Void) throws -> BrokerLine? {
        do {
            try body()
        } catch let error as CommandError where comesBack && connection.isLost {
            part(error.message)
            tell(.apart(reason: error.message))
        }
        return early.popFirst()
    }

    private func part(_ reason: String) {
        connection.leave()
        isApart = true
        due = TimeLimit(seconds: pauseSeconds)
    }

    /// Waits until the next attempt is due, and makes it.
    private func awaitBroker(_ milliseconds: Int32) throws {
        guard !isOrphaned else {
            throw CommandError(.unavailable, "the plugin that this command belonged to has ended")
        }
        let left = due.milliseconds ?? 0
        let wait = milliseconds < 0 ? left : min(left, milliseconds)
        if wait > 0 { try connection.rest(milliseconds: wait) }
        guard due.milliseconds == nil else { return }
        pauseSeconds = min(pauseSeconds * 2, Self.pauseSecondsMax)
        do {
            try comeBack()
        } catch let error as CommandError where connection.isLost {
            part(error.message)
        } catch let error as Interrupted {
            part("")
            throw error
        }
    }

    /// Whether this command belongs to a plugin that is gone: the next bus starts that plugin again, with new
    /// commands.
    private var isOrphaned: Bool { parent.isGone && SocketPath.variable("PLUGBOARD_NAME") != nil }

    private func comeBack() throws {
        try connection.connectAgain()
        try connection.expectGreeting()
        isApart = false
        let kept = early.count
        for index in standing.indices { _ = try perform(index, isFirst: false) }
        pauseSeconds = Self.firstPauseSeconds
        tell(.back(isWhole: !early.dropFirst(kept).contains { $0.kind == .event("gap") }))
    }

    /// Sends a request, and keeps lines that come before its reply.
    private func perform(_ index: Int, isFirst: Bool) throws -> BrokerLine {
        let id = UInt64(index + 1)
        try connection.send(standing[index].line(id: id))
        connection.linesSent += 1
        while true {
            let line = try connection.nextLine()
            if case .event = line.kind {
                early += sorted(line)
                continue
            }
            if let refusal = line.refusal { throw refusal }
            let epoch = connection.greeting?["epoch"]?.string ?? ""
            if let gap = standing[index].begin(line, epoch: epoch, isFirst: isFirst) { early.append(gap) }
            return line
        }
    }

    /// Applies a line to its subscription.
    private func sorted(_ line: BrokerLine) -> [BrokerLine] {
        guard case .event(let event) = line.kind, let sub = line["sub"]?.integer,
            let index = standing.firstIndex(where: { $0.sub == sub })
        else { return [line] }
        return standing[index].take(line, event)
    }
}

extension ResumingConnection.News {
    /// The text for a person.
    var text: String {
        switch self {
        case .apart(let reason): "\(reason); waiting for it to come back (Ctrl-C ends)"
        case .back(isWhole: true): "the broker is back"
        case .back(isWhole: false): "the broker is back; what happened meanwhile is not known"
        }
    }
}
