// `top` on a terminal: it draws once a period, and reacts to keys and signals. However it ends, it
// gives the terminal back.

import PlugboardPosix

/// The whole screen.
struct TopScreen {
    static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT]
    private static let redrawKey = KeyPress.letter(Character(Unicode.Scalar(0x0C)))
    private static let input: Int32 = 0

    private var feed: TopFeed
    private let screen: FullScreen
    private let signals: Signals
    private let paint: Paint
    private var keystrokes = Keystrokes()
    private var view = TopView()
    /// The held picture, if there is one.
    private var held: TopState?
    private var isLeaving = false

    init(_ feed: TopFeed, _ connection: BrokerConnection, _ output: OutputStream) throws {
        self.feed = feed
        paint = output.paint
        signals = try Signals(catching: Self.signals)
        try connection.watch(signals.raw)
        if isatty(Self.input) == 1 { try connection.watch(Self.input) }
        screen = FullScreen(output.stream)
    }

    /// Runs until `q` or a signal.
    mutating func run() throws {
        defer { screen.giveBack() }
        draw()
        while !isLeaving {
            do {
                try feed.gather()
            } catch is Interrupted {
                takeSignals()
                takeKeys()
            }
            if !isLeaving { draw() }
        }
    }

    private mutating func draw() {
        let size = screen.size
        let picture = picture
        if !screen.show(picture.lines(size: size, isHeld: held != nil), size: size) { isLeaving = true }
    }

    private var picture: TopPicture { TopPicture(state: held ?? feed.state, paint: paint, view: view) }

    private mutating func takeSignals() {
        while let number = signals.next() {
            switch number {
            case SIGWINCH: break
            case SIGTSTP:
                screen.giveBack()
                Signals.stop()
                screen.take()
            case SIGCONT: screen.forget()
            default: isLeaving = true
            }
        }
    }

    private mutating func takeKeys() {
        guard isatty(Self.input) == 1, PipeCalls.isReadable(Self.input) else { return }
        let read = PipeCalls.read(Self.input, upTo: 256).bytes
        // A readable terminal without bytes is gone.
        if read.isEmpty { isLeaving = true }
        for key in keystrokes.take(read) {
            switch key {
            case .letter("q"), .letter("Q"), .f10: isLeaving = true
            case .letter("p"), .letter(" "): held = held == nil ? feed.state : nil
            case Self.redrawKey: screen.forget()
            default: picture.take(key, &view, rows: screen.size.rows)
            }
        }
    }
}
