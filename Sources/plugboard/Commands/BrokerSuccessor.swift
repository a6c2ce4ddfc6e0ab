// Replaces the program of a running broker, in the same process, with the open socket and locks. So a service
// manager or supervisor sees no restart.

import PlugboardBroker
import PlugboardPosix

/// The successor of a broker. The signal thread calls `come`, the broker's thread calls `replace`.
final class BrokerSuccessor: Sendable {
    /// The signals that a broker handles.
    static let signals = Signals.ending + [SIGHUP, SIGUSR2]
    /// The environment variables of a service manager. The successor gets them, too.
    static let variables = ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_PID"]
    private static let patienceSeconds = 10.0
    private static let pauseSeconds = 0.002

    private let broker: Broker
    private let console: CommandConsole
    /// The path and the identity of this program's file when it began.
    private let program: String?
    private let identity: FileIdentity?
    private let inherited: [String: String]
    /// The policy file that the successor will read, if any.
    private let policy: String?

    init(_ broker: Broker, _ console: CommandConsole, _ inherited: [String: String], policy: String?) {
        self.inherited = inherited
        self.policy = policy
        self.broker = broker
        self.console = console
        program = ProgramPath.current()
        identity = program.flatMap { FileIdentity(path: $0) }
    }

    /// Whether another program is now at this one's path.
    var isAnotherProgram: Bool {
        guard let program, let now = FileIdentity(path: program) else { return false }
        return now != identity
    }

    /// Makes the broker give way to the program at its path, if that can be started. Returns whether it does.
    @discardableResult
    func come() -> Bool {
        guard let program else {
            stay("the system doesn't say where its program is")
            return false
        }
        do {
            // The policy is read here, once. So a later change of the file can't keep the next broker from
            // starting.
            let next = try policy.map { path in try Policy(path: path) }
            if let problem = try Self.problem(with: program, next) {
                stay("\(program) \(problem)")
                return false
            }
            broker.makeWay(for: next)
            return true
        } catch {
            stay("\(error)")
            return false
        }
    }

    /// Whoever asked for the next program may see only what the bus tells.
    private func stay(_ reason: String) {
        let message = "\(BrokerStays.words): \(reason)"
        console.say(message)
        broker.stay(because: message)
    }

    /// Becomes that program. Returns only if that fails or is no longer wanted. Then the broker runs again,
    /// or has stopped.
    func replace() {
        Signals.hold(Self.signals)
        defer { Signals.release(Self.signals) }
        guard let program, broker.isToMakeWay else { return }
        do {
            let descriptors = try broker.descriptors()
            let variables = inherited.merging(broker.variables) { own, _ in own }
            Handover.leave(descriptors, variables: variables)
            let arguments = Array(Arguments.all().dropFirst())
            let failure = ProgramImage.replace(by: program, arguments: arguments)
            Handover.withdraw(descriptors, variables: variables)
            console.say("\(BrokerStays.words): \(failure)")
        } catch {
            console.say("\(BrokerStays.words): \(error)")
        }
    }

    /// Why a program can't take over; nil if it prints its version, accepts the policy, and ends with status
    /// 0.
    private static func problem(with program: String, _ policy: Policy?) throws -> String? {
        var start = ChildStart(program: program, arguments: ["--version"], output: .piped)
        if let problem = problem(with: start, printing: "\(Program.name) ") { return problem }
        guard let file = try policy?.file() else { return nil }
        start.arguments = ["policy", "check", "/dev/fd/\(ActivatedSocket.firstNumber)"]
        start.passing = file.raw
        return withExtendedLifetime(file) {
            problem(with: start).map { "does not take the policy: it \($0)" }
        }
    }

    private static func problem(with start: ChildStart, printing words: String = "") -> String? {
        do {
            var child = try ChildProcess(starting: start)
            let limit = TimeLimit(seconds: patienceSeconds)
            // Whoever ends the broker meanwhile doesn't wait for the trial.
            while !limit.isOver, !Signals.haveAskedToEnd {
                if let end = child.end() {
                    guard end == .exited(0) else { return "\(end) when it was tried" }
                    if hasPrinted(words, child) { return nil }
                    return "printed no version of plugboard when it was tried"
                }
                Pause.sleep(seconds: pauseSeconds)
            }
            return limit.isOver
                ? "did not end when it was tried" : "was still tried when the broker was ended"
        } catch {
            return "can't be started: \(error)"
        }
    }

    /// Whether the output of a program that has ended begins with these words.
    private static func hasPrinted(_ words: String, _ child: borrowing ChildProcess) -> Bool {
        guard !words.isEmpty, let output = child.outputFD else { return true }
        var bytes = [UInt8](repeating: 0, count: words.utf8.count)
        var room = bytes.mutableSpan
        _ = DescriptorCalls.read(output, into: &room)
        return bytes.elementsEqual(words.utf8)
    }
}
