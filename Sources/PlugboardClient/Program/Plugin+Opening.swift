// How a plugin connects. If it has to wait for a broker, it says so on standard error. Signals end the
// wait, too, and so does cancellation.

import PlugboardPosix

extension Plugin {
    /// How long to wait before saying so. A broker that `up` has just started is there by then.
    private static let noticeDelay = Duration.milliseconds(300)

    /// Connects. Returns nil if SIGTERM or SIGINT came first, or the task was cancelled.
    static func open(_ name: String, _ path: String, _ options: Bus.Options) async throws -> Bus? {
        let notice = Task {
            try await Task.sleep(for: noticeDelay)
            Console.warn("\(name): waiting for a broker at \(path)")
        }
        defer { notice.cancel() }
        do {
            return try await connect(name, path, options)
        } catch is CancellationError where StopSignals.shared.hasCome || Task.isCancelled {
            return nil
        }
    }

    /// Connects until a signal comes, or the caller's task is cancelled.
    private static func connect(_ name: String, _ path: String, _ options: Bus.Options) async throws -> Bus {
        let opening = Task { try await Bus.connect(name: name, path: path, options: options) }
        let handler = StopSignals.shared.add { opening.cancel() }
        // Otherwise the handler would keep the bus as long as the process lives.
        defer { StopSignals.shared.remove(handler) }
        return try await withTaskCancellationHandler {
            try await opening.value
        } onCancel: {
            opening.cancel()
        }
    }

    /// The exit status: EX_UNAVAILABLE (69) of sysexits.h if no acceptable broker answers, or one that
    /// closes the connection; 1 for any other error.
    static func status(of error: any Error) -> Int32 {
        switch error as? BusError {
        case .noBroker, .untrusted, .disconnected: 69
        default: 1
        }
    }
}
