// A program that a test starts, stops and kills. What it writes goes to files, so it never waits for a reader.
// If a test forgets it, it is killed, with everything in its group.
//
// Foundation's `Process` isn't used for this. It lends each child a socket, and finds that the child has
// ended when nobody has it any more; its pipes stay open in programs that start at the same time. So a child
// that was killed could seem to run for as long as another one did.

import PlugboardPosix
import Synchronization
import Testing

/// A program of its own. May be used by several threads.
public final class TestProgram: Sendable {
    /// What it reads.
    public enum Input: Sendable {
        case nothing
        /// What the test gives to `type`.
        case typed
    }

    /// Where it writes to.
    public enum Output: Sendable, Equatable {
        /// Its output and its errors into a file each.
        case files
        /// Both into one file, in their order.
        case oneFile
        /// Its output to the terminal at that path, its errors into a file.
        case terminal(String)
        /// Its output into a pipe that nobody reads, and that can be closed: `stopReading`.
        case pipe
        /// It has no output at all, as with `>&-` in a shell, nor an input that it has no use for.
        case shut
    }

    private let folder: TemporaryFolder
    private let state: Mutex<State>

    private struct State: ~Copyable {
        var child: ChildProcess
        var end: ChildEnd?
    }

    /// Starts a program.
    /// - Parameters:
    ///   - program: its path, or the name of a program that was built with the tests.
    ///   - place: the folder it runs in; nil for that of the tests.
    ///   - environment: all variables it has, but for those of every program in tests.
    public init(
        _ program: String,
        _ arguments: [String] = [],
        in place: String? = nil,
        environment: [String: String] = [:],
        input: Input = .nothing,
        output: Output = .oneFile
    ) throws {
        folder = try TemporaryFolder()
        var out = folder("output")
        if case .terminal(let path) = output { out = path }
        let redirections =
            switch output {
            case .files, .terminal: #">"$out" 2>"$err""#
            case .oneFile: #">"$out" 2>&1"#
            case .pipe: #"2>"$err""#
            case .shut: #">&- 2>"$err""# + (input == .nothing ? " <&-" : "")
            }
        let path = program.contains("/") ? program : "\(SwiftProgram.products)/\(program)"
        let script = #"out=$1 err=$2; shift 2; exec "$@" "# + redirections
        let usual = HangGuard.variables.merging(["SWIFT_BACKTRACE": "enable=no"]) { own, _ in own }
        var start = ChildStart(
            program: "/bin/sh",
            arguments: ["-c", script, "sh", out, folder("errors"), path] + arguments,
            environment: usual.merging(environment) { _, given in given }.map { "\($0.key)=\($0.value)" },
            folder: place,
            output: output == .pipe ? .outputPiped : .inherited
        )
        start.takesInput = input == .typed
        state = Mutex(State(child: try ChildProcess(starting: start)))
    }

    /// Its standard output so far; with `oneFile` its errors, too.
    public var output: String { folder.text("output") }
    /// Its standard error so far.
    public var errors: String { folder.text("errors") }
    public var pid: Int32 { state.withLock { $0.child.pid } }
    public var isRunning: Bool { status == nil }

    /// Its exit status, once it has ended. Negative if a signal ended it.
    public var status: Int32? {
        let end = state.withLock { state in
            if state.end == nil { state.end = state.child.end() }
            return state.end
        }
        return switch end {
        case .exited(let status): status
        case .signalled(let number): -number
        case nil: nil
        }
    }

    public func signal(_ number: Int32) {
        guard isRunning else { return }
        PlugboardPosix.kill(pid, number)
    }

    /// Waits for its end. Returns its status.
    public func end() async throws -> Int32? {
        try await eventually("the program ends") { !isRunning }
        return status
    }

    /// Asks it to end. Returns its status.
    @discardableResult
    public func stop(_ number: Int32 = SIGTERM) async throws -> Int32? {
        signal(number)
        return try await end()
    }

    /// Kills it and waits for its end.
    public func kill() {
        signal(SIGKILL)
        try? eventually("the program ends") { !isRunning }
    }

    /// Writes to its standard input.
    public func type(_ text: String) throws {
        try state.withLock { state in
            let bytes = Array(text.utf8)
            var written = 0
            while written < bytes.count {
                guard let input = state.child.inputFD,
                    case .bytes(let count) = PipeCalls.write(input, bytes.span[written...])
                else { throw SystemError.last("write", "its input") }
                written += count
            }
        }
    }

    public func closeInput() { state.withLock { $0.child.endInput() } }

    /// Closes the reading end of its output.
    public func stopReading() { state.withLock { $0.child.stopReading() } }

    /// The variables of the tests.
    public static func ownVariables() -> [String: String] {
        let pairs = Environment.all().compactMap { variable in
            variable.firstIndex(of: "=").map {
                (String(variable[..<$0]), String(variable[variable.index(after: $0)...]))
            }
        }
        return Dictionary(pairs) { first, _ in first }
    }

    /// Runs a program with the variables of the tests, and waits for its end. Its output has its errors, too.
    public static func run(
        _ program: String, _ arguments: [String], in place: String? = nil, environment: [String: String] = [:]
    ) throws -> (status: Int32, output: String) {
        let variables = ownVariables().merging(environment) { _, given in given }
        let program = try TestProgram(program, arguments, in: place, environment: variables)
        try eventually("\(arguments) ends") { !program.isRunning }
        return (program.status ?? 0, program.output)
    }
}
