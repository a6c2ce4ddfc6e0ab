import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard_bench

@Suite("A measured server", .someAtATime)
struct MeasuredServerTests {
    @Test("tells how it ended as often as it is asked")
    func end() throws {
        let dialect = PlugboardDialect(programs: Products.programs)
        let server = try MeasuredServer(dialect, for: Workload("test"), Products.programs)
        _ = try server.connectWhenReady()
        #expect(server.end == nil)
        server.signal(SIGKILL)
        #expect(Patience.wait(seconds: HangGuard.seconds) { server.end != nil })
        #expect(server.end == .signalled(SIGKILL) && server.end == .signalled(SIGKILL))
    }
}
