// A terminal that reports single keys and shows a whole screen. However the program ends, except by
// SIGKILL, the terminal goes back to its earlier state. That state is outside of Swift's own
// memory, because the program may end by a crash.

import Synchronization

/// How many characters a terminal shows.
public struct TerminalSize: Equatable, Sendable {
    public let columns: Int
    public let rows: Int

    public init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }
}

extension StandardStream {
    /// The terminal's size; nil where it isn't one or doesn't say.
    public var size: TerminalSize? {
        var size = winsize()
        guard ioctl(fd, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }
}

/// How to give the terminal back, in a place where a signal handler finds it.
private struct Loan {
    var before = termios()
    /// Whether there is a mode to set back.
    var hasMode = false
    var isTaken = false
    let input: Int32
    let output: Int32
    let farewell: UnsafeMutableBufferPointer<UInt8>

    /// Uses only calls that a signal handler may make. It doesn't wait long for a terminal that
    /// takes nothing.
    func giveBack() {
        var entry = pollfd(fd: output, events: Int16(POLLOUT), revents: 0)
        if poll(&entry, 1, 200) > 0 { _ = write(output, farewell.baseAddress, farewell.count) }
        if hasMode { withUnsafePointer(to: before) { _ = tcsetattr(input, TCSANOW, $0) } }
    }
}

/// The address of this process's loan; 0 while there is none. Its memory is never freed.
private let loan = Atomic<UInt>(0)

/// Signals of a crash: their handlers give the terminal back first.
private let fatalSignals = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE]

/// A terminal in raw mode. One in a program's life; used by one thread.
public final class RawTerminal {
    private let state: UnsafeMutablePointer<Loan>
    private let greeting: [UInt8]

    /// Takes over the terminal `output`. Writes `greeting` to it, and `farewell` when it goes back.
    /// If `input` is a terminal, too, its keys come one by one and are not echoed.
    public init(input: Int32 = 0, output: StandardStream = .output, greeting: [UInt8], farewell: [UInt8]) {
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: farewell.count)
        _ = bytes.initialize(from: farewell)
        state = .allocate(capacity: 1)
        state.initialize(to: Loan(input: input, output: output.fd, farewell: bytes))
        self.greeting = greeting
        catchFatalSignals()
        take()
    }

    deinit {
        giveBack()
    }

    /// Takes it again, after it was given back.
    public func take() {
        guard !state.pointee.isTaken else { return }
        state.pointee.isTaken = true
        loan.store(UInt(bitPattern: state), ordering: .sequentiallyConsistent)
        setMode()
        _ = StandardStream(fd: state.pointee.output).write(greeting)
    }

    /// As it was before.
    public func giveBack() {
        guard state.pointee.isTaken else { return }
        state.pointee.isTaken = false
        loan.store(0, ordering: .sequentiallyConsistent)
        state.pointee.giveBack()
    }

    /// Ctrl-C and Ctrl-Z still send signals. Keys come without waiting for a whole line, and
    /// nothing is echoed.
    private func setMode() {
        state.pointee.hasMode = tcgetattr(state.pointee.input, &state.pointee.before) == 0
        guard state.pointee.hasMode else { return }
        var mode = state.pointee.before
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
        withUnsafeMutableBytes(of: &mode.c_cc) { characters in
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
        }
        _ = tcsetattr(state.pointee.input, TCSANOW, &mode)
    }

    private func catchFatalSignals() {
        for number in fatalSignals {
            signal(number) { number in
                let address = loan.exchange(0, ordering: .sequentiallyConsistent)
                UnsafeMutablePointer<Loan>(bitPattern: address)?.pointee.giveBack()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }
}
