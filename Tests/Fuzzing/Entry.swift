// The entry point of libFuzzer. Only `.ci/fuzz` compiles it.
//
// Why an address: libFuzzer hands one over. Its bytes are copied at once.

import FuzzTargets
import PlugboardPosix

private let target = FuzzTarget(rawValue: SocketPath.variable("PLUGBOARD_FUZZ") ?? "") ?? .framer

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
