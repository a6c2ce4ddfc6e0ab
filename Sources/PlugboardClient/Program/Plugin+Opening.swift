// How a plugin comes by its connection: it waits for a broker where a person can see
// that it does, and can be stopped meanwhile as at any other time.

import PlugboardPosix

extension Plugin {
    /// What passes for a moment: brokers that `up` has just started are there by then.
    private static let noticeDelay = Duration.milliseconds(300)

    /// Connects; nil where SIGTERM or SIGINT came first. Ends the process where it can't.
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

    /// EX_UNAVAILABLE of sysexits.h where nobody answers who may, or only to hang up.
    private static func status(of error: any Error) -> Int32 {
        switch error as? BusError {
        case .noBroker, .untrusted, .disconnected: 69
        default: 1
        }
    }
}
