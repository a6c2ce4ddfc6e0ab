// What a child is started with.

/// A program to start, with everything that the child gets from its parent.
public struct ChildStart: Sendable {
    /// Where the child's standard output and error go.
    public enum Output: Sendable {
        /// To where the parent's go.
        case inherited
        /// Both into one pipe that the parent reads, in the order they were written.
        case piped
        /// Output into a pipe that the parent reads, error to where the parent's goes.
        case outputPiped
    }

    /// The group or session that the child leads, which identifies it and everything that it
    /// starts.
    public enum Leading: Sendable {
        /// Of a process group: it ends as a whole.
        case group
        /// Of a session as well: nobody outside can join it, and it has no terminal.
        case session
    }

    /// The path of the program's file.
    public var program: String
    public var arguments: [String]
    /// `NAME=value` each; the child has no other variables.
    public var environment: [String]
    /// The folder it runs in; nil for the parent's.
    public var folder: String?
    public var output: Output
    public var leading: Leading
    /// The child's standard input is a pipe, and `ChildProcess.release` writes a byte to it.
    /// Otherwise the standard input is empty.
    public var isHeld: Bool
    /// The child's standard input is a pipe, which the parent writes: `ChildProcess.inputFD`.
    public var takesInput = false
    /// A descriptor that becomes the child's number 3.
    public var passing: Int32?

    public init(
        program: String,
        arguments: [String] = [],
        environment: [String] = Environment.all(),
        folder: String? = nil,
        output: Output = .inherited,
        leading: Leading = .group,
        isHeld: Bool = false
    ) {
        self.program = program
        self.arguments = arguments
        self.environment = environment
        self.folder = folder
        self.output = output
        self.leading = leading
        self.isHeld = isHeld
    }

    /// The ends of the input's pipe; both nil if there is none.
    func inputEnd() throws -> (reader: Int32?, writer: Int32?) {
        guard isHeld || takesInput else { return (nil, nil) }
        let ends = try Pipe.make()
        UnixSocket.setBlocking(ends.reader, true)
        return (ends.reader, ends.writer)
    }

    /// The ends of the output's pipe; both nil if it is inherited.
    func outputEnd() throws -> (reader: Int32?, writer: Int32?) {
        if case .inherited = output { return (nil, nil) }
        let ends = try Pipe.make()
        UnixSocket.setBlocking(ends.writer, true)
        return (ends.reader, ends.writer)
    }

    /// Starts the program; the caller closes `outputWriter` and `inputReader`.
    func spawn(outputWriter: Int32?, inputReader: Int32?) throws -> Int32 {
        var actions = SpawnActions()
        defer { actions.destroy() }
        try actions.prepare(
            output: output, writer: outputWriter, reader: inputReader, passing: passing, folder: folder
        )
        var attributes = SpawnAttributes()
        defer { attributes.destroy() }
        try attributes.prepare(leading)
        return try SpawnCalls.start(self, &actions, &attributes)
    }
}
