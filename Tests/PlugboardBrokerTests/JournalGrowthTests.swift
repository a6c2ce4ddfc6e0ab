// How much room a journal takes up on the disk, with reserved room, while a client writes as fast as it
// can and snapshots are made on another thread.

import Foundation
import PlugboardBroker
import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardJournal

@Suite("The journal of a busy broker", .oneAtATime, .serialized)
struct JournalGrowthTests {
    @Test(
        "takes up no more than is promised, at any moment",
        arguments: [(5, 5_000, 20), (1_000, 5_000, 20), (5, 900_000, 1)]
    )
    func bound(keys: Int, bytes: Int, together: Int) throws {
        let folder = try TemporaryFolder(named: "pg")
        let state = folder.path + "/state"
        // As on a small disk.
        let broker = try TestBroker(state: state, JournalOptions(historyBytes: 0, leewayBytes: 0...0))
        let gauge = Gauge(state)
        let client = try broker.client()
        #expect(try client.write(120_000_000 / bytes, keys: keys, bytes: bytes, together: together) == 0)
        let peak = gauge.stop()
        broker.stop()
        let most = 3 * keys * (bytes + 120) + 4 * 1_048_576 + bytes + 200
        #expect(peak > 0 && peak <= most, "\(peak) of \(most)")
    }
}

/// Measures again and again how much room a folder takes up.
private final class Gauge: Sendable {
    private let peak = Shared(0)
    private let isStopped = Shared(false)
    private let ended = DispatchSemaphore(value: 0)

    init(_ folder: String) {
        let (peak, isStopped, ended) = (peak, isStopped, ended)
        Thread.detachNewThread {
            while !isStopped.get() {
                peak.set(max(peak.get(), bytesOnDisk(of: folder)))
                Pause.sleep(seconds: 0.001)
            }
            ended.signal()
        }
    }

    /// Stops and returns the highest measurement.
    func stop() -> Int {
        isStopped.set(true)
        ended.wait()
        return peak.get()
    }
}

/// The bytes of all files in a folder, with reserved room.
func bytesOnDisk(of folder: String) -> Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.reduce(0) { $0 + SystemCalls.bytesOnDisk("\(folder)/\($1)") }
}
