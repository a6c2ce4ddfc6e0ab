// One run of a command for `serve` and `subscribe --exec`: writes its standard input, collects its standard
// output, and notices its end. It never waits: its owner polls its descriptors.

import PlugboardPosix
import PlugboardWire

/// How a run of a command ended.
struct RunResult: Sendable {
    let end: ChildEnd
    let output: [UInt8]
    /// Whether it was killed because it wrote too much.
    let isOverlong: Bool
    /// The seconds of its limit, if that was over before it ended.
    var passedLimit: Double?

    var isGood: Bool { end == .exited(0) && !isOverlong && passedLimit == nil }

    /// What is wrong, for a person.
    var text: String {
        if isOverlong { return "the command wrote more than \(CommandRun.outputBytesMax) bytes" }
        guard let passedLimit else { return "the command \(end)" }
        return "the command took more than \(Amount.duration(microseconds: passedLimit * 1e6)) and was ended"
    }
}

/// A command that runs. Used by one thread.
final class CommandRun {
    /// More output than this can't be in a line.
    static let outputBytesMax = Limits.lineBytesMax
    private static let pieceBytes = 65_536

    private var child: ChildProcess
    private var input: ArraySlice<UInt8>
    private var output: [UInt8] = []
    private var isOverlong = false
    /// The descriptors to watch. A descriptor is nil when it is done with.
    private(set) var inputFD: Int32?
    private(set) var outputFD: Int32?

    /// Starts it. Throws `SystemError` if that fails.
    init(_ start: ChildStart, input: [UInt8]) throws {
        self.input = input[...]
        child = try ChildProcess(starting: start)
        inputFD = child.inputFD
        outputFD = child.outputFD
    }

    /// Writes and reads as much as goes now. `forget` gets each descriptor that is done with, before it is
    /// closed.
    func move(_ forget: (Int32) -> Void) {
        if let fd = inputFD, !write(fd) {
            forget(fd)
            inputFD = nil
            child.endInput()
        }
        if let fd = outputFD, !read(fd) {
            forget(fd)
            outputFD = nil
            child.stopReading()
        }
    }

    /// How it ended, or nil while it runs. What it left running in its process group ends, too.
    func result(_ forget: (Int32) -> Void) -> RunResult? {
        guard let end = child.end() else { return nil }
        move(forget)
        for fd in [inputFD, outputFD].compactMap(\.self) { forget(fd) }
        (inputFD, outputFD) = (nil, nil)
        return RunResult(end: end, output: output, isOverlong: isOverlong)
    }

    /// Asks it, and everything that it started, to end.
    func end() {
        child.signalGroup(SIGTERM)
    }

    /// Kills it and everything that it started.
    func kill() {
        child.signalGroup(SIGKILL)
    }

    /// Returns false if all is written, or nobody reads it.
    private func write(_ fd: Int32) -> Bool {
        while !input.isEmpty {
            switch PipeCalls.write(fd, input.span) {
            case .bytes(let count): input = input.dropFirst(count)
            case .wouldBlock: return true
            case .ended, .failed: return false
            }
        }
        return false
    }

    /// Returns false at the end.
    private func read(_ fd: Int32) -> Bool {
        while true {
            let (transfer, bytes) = PipeCalls.read(fd, upTo: Self.pieceBytes)
            switch transfer {
            case .bytes: guard collect(bytes) else { return false }
            case .wouldBlock: return true
            case .ended, .failed: return false
            }
        }
    }

    private func collect(_ bytes: [UInt8]) -> Bool {
        output += bytes
        guard output.count > Self.outputBytesMax else { return true }
        isOverlong = true
        kill()
        return false
    }
}
