// A terminal that reports single keys and shows a whole screen. However the program ends, except by
// SIGKILL, the terminal goes back to its earlier state. That state is outside of Swift's own
// memory, because the program may end by a crash.
//
// Why its pointers are safe: a loan and its farewell are made before their address is known to
// anybody and never freed, so that a handler finds them at any time; one thread changes them.

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
    /// The terminal's size; nil if it isn't one or doesn't say.
    public var size: TerminalSize? {
        guard let size = windowSize, size.ws_col > 0, size.ws_row > 0 else { return nil }
        return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// As the system has it; nil if this is no terminal.
    var windowSize: winsize? {
        var size = winsize()
        return unsafe ioctl(fd, UInt(TIOCGWINSZ), &size) == 0 ? size : nil
    }
}

/// How to give the terminal back, in a place where a signal handler finds it.
@safe
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
        if PollCalls.wait(output, Int16(POLLOUT), 200) > 0 {
            _ = unsafe write(output, farewell.baseAddress, farewell.count)
        }
        if hasMode { unsafe withUnsafePointer(to: before) { _ = unsafe tcsetattr(input, TCSANOW, $0) } }
    }
}

/// The address of this process's loan; 0 while there is none. Its memory is never freed.
private let loan = Atomic<UInt>(0)

/// Signals of a crash: their handlers give the terminal back first.
private let fatalSignals = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE]

/// A terminal in raw mode. One in a program's life; used by one thread.
@safe
public final class RawTerminal {
    private let state: UnsafeMutablePointer<Loan>
    private let greeting: [UInt8]

    private var lent: Loan {
        unsafeAddress { unsafe UnsafePointer(state) }
        unsafeMutableAddress { unsafe state }
    }

    /// Takes over the terminal `output`. Writes `greeting` to it, and `farewell` when it goes back.
    /// If `input` is a terminal, too, its keys come one by one and are not echoed.
    public init(input: Int32 = 0, output: StandardStream = .output, greeting: [UInt8], farewell: [UInt8]) {
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: farewell.count)
        _ = unsafe bytes.initialize(from: farewell)
        unsafe state = .allocate(capacity: 1)
        unsafe state.initialize(to: Loan(input: input, output: output.fd, farewell: bytes))
        self.greeting = greeting
        catchFatalSignals()
        take()
    }

    deinit {
        giveBack()
    }

    /// Takes it again, after it was given back.
    public func take() {
        guard !lent.isTaken else { return }
        lent.isTaken = true
        unsafe loan.store(UInt(bitPattern: state), ordering: .sequentiallyConsistent)
        setMode()
        _ = StandardStream(fd: lent.output).write(greeting)
    }

    /// As it was before.
    public func giveBack() {
        guard lent.isTaken else { return }
        lent.isTaken = false
        loan.store(0, ordering: .sequentiallyConsistent)
        lent.giveBack()
    }

    /// Ctrl-C and Ctrl-Z still send signals. Keys come without waiting for a whole line, and
    /// nothing is echoed.
    private func setMode() {
        lent.hasMode = unsafe tcgetattr(lent.input, &lent.before) == 0
        guard lent.hasMode else { return }
        var mode = lent.before
        mode.c_lflag &= ~tcflag_t(ICANON | ECHO)
        unsafe withUnsafeMutableBytes(of: &mode.c_cc) { characters in
            unsafe characters[Int(VMIN)] = 1
            unsafe characters[Int(VTIME)] = 0
        }
        _ = unsafe tcsetattr(lent.input, TCSANOW, &mode)
    }

    private func catchFatalSignals() {
        for number in fatalSignals {
            signal(number) { number in
                let address = loan.exchange(0, ordering: .sequentiallyConsistent)
                unsafe UnsafeMutablePointer<Loan>(bitPattern: address)?.pointee.giveBack()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }
}
