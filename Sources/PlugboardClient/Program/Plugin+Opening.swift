// How a plugin gets its connection: it says so when it has to wait for a broker, and meanwhile it
// can be stopped as at any other time.

import PlugboardPosix

extension Plugin {
    /// How long to wait before saying so: a broker that `up` has just started is there by then.
    private static let noticeDelay = Duration.milliseconds(300)

    /// Connects; nil if SIGTERM or SIGINT came first. Ends the process if it can't connect.
    static func open(_ name: String, _ path: String, _ options: Bus.Options) async -> Bus? {
        let notice = Task {
            try await Task.sleep(for: noticeDelay)
            Console.warn("\(name): waiting for a broker at \(path)")
        }
        defer { notice.cancel() }
        do {
            return try await connect(name, path, options)
        } catch is CancellationError where StopSignals.shared.hasCome {
            return nil
        } catch {
            fail(name, error, status: status(of: error))
        }
    }

    /// Connects until a signal comes, or the caller's task is cancelled.
    private static func connect(_ name: String, _ path: String, _ options: Bus.Options) async throws -> Bus {
        let opening = Task { try await Bus.connect(name: name, path: path, options: options) }
        let handler = StopSignals.shared.add { opening.cancel() }
        // The handler would keep the bus for as long as the process lives.
        defer { StopSignals.shared.remove(handler) }
        return try await withTaskCancellationHandler {
            try await opening.value
        } onCancel: {
            opening.cancel()
        }
    }

    /// EX_UNAVAILABLE of sysexits.h if no acceptable broker answers, or one that only closes.
    private static func status(of error: any Error) -> Int32 {
        switch error as? BusError {
        case .noBroker, .untrusted, .disconnected: 69
        default: 1
        }
    }
}
