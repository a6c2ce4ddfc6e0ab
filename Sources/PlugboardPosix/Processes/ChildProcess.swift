// Owns one child process and its process group, from the start to the reaping. A child inherits
// only its three standard descriptors, no ignored signal and no mask. It leads a group or a session
// of its own, so a terminal's Ctrl-C reaches only the parent, and the parent ends the whole group.
// Releasing a child that still runs kills it: no orphan and no zombie is left by mistake.

/// How a child ended.
public enum ChildEnd: Equatable, Sendable, CustomStringConvertible {
    /// It ended by itself, with that status.
    case exited(Int32)
    /// A signal ended it.
    case signalled(Int32)

    public var description: String {
        switch self {
        case .exited(let status): "exited with status \(status)"
        case .signalled(let number): "was ended by \(Signals.name(number))"
        }
    }
}

/// A running child. Used by one thread, in a process that doesn't ignore SIGCHLD (its
/// children would be reaped behind its back).
public struct ChildProcess: ~Copyable {
    /// Its process and process group number, valid until its end was reported.
    public let pid: Int32
    private let handle: ProcessHandle
    private var output: Descriptor?
    /// The writing end of its standard input. It takes the byte that releases a held child.
    private var input: Descriptor?
    private var isReaped = false

    /// Starts a child. Throws `SystemError` if the program can't be started.
    public init(starting start: ChildStart) throws {
        let end = try start.outputEnd()
        defer { if let writer = end.writer { DescriptorCalls.close(writer) } }
        do {
            let given = try start.inputEnd()
            defer { if let reader = given.reader { DescriptorCalls.close(reader) } }
            input = given.writer.map { Descriptor(adopting: $0) }
            pid = try start.spawn(outputWriter: end.writer, inputReader: given.reader)
        } catch {
            if let reader = end.reader { DescriptorCalls.close(reader) }
            throw error
        }
        handle = ProcessHandle(child: pid)
        output = end.reader.map { Descriptor(adopting: $0) }
    }

    deinit {
        guard !isReaped else { return }
        handle.signalGroup(SIGKILL)
        SpawnCalls.reap(pid)
    }

    /// The reading end of its output pipe, if there is one; non-blocking.
    public var outputFD: Int32? {
        switch output {
        case .some(let descriptor): descriptor.raw
        case .none: nil
        }
    }

    /// The writing end of its input pipe, if there is one; non-blocking.
    public var inputFD: Int32? {
        switch input {
        case .some(let descriptor): descriptor.raw
        case .none: nil
        }
    }

    /// Closes its input pipe: it has read everything that it gets.
    public mutating func endInput() {
        input = nil
    }

    /// Releases a child that was started held. Harmless to repeat.
    public mutating func release() {
        guard let writer = input.take()?.release() else { return }
        ByteCalls.writeByte(writer, 0x0A)
        DescriptorCalls.close(writer)
    }

    /// Closes its output pipe: from now on its output has no reader.
    public mutating func stopReading() {
        output = nil
    }

    /// Sends a signal to the child and everyone in its group.
    public borrowing func signalGroup(_ number: Int32) {
        guard !isReaped else { return }
        handle.signalGroup(number)
    }

    /// Lets the child and its group live on, also when this process ends. Throws `SystemError` if there is
    /// no thread to reap it; then it ends now.
    public consuming func letGo() throws {
        let pid = pid
        try Background.start { SpawnCalls.reap(pid) }
        isReaped = true
    }

    /// Whether it has ended, and others of its group still run. Nothing is done about them.
    public var leavesOthers: Bool {
        !isReaped && SpawnCalls.end(of: pid) != nil && handle.isGroupAlive
    }

    /// How it ended, or nil while it runs. The first answer also kills the rest of its group, while
    /// no other group can have the number yet, and reaps the child.
    public mutating func end() -> ChildEnd? {
        guard !isReaped, let end = SpawnCalls.end(of: pid) else { return nil }
        isReaped = true
        handle.signalGroup(SIGKILL)
        SpawnCalls.reap(pid)
        return end
    }
}
