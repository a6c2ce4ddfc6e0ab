// Threads that are kept to some of the processors.

import Testing

@testable import PlugboardPosix

#if os(Linux)
    @Suite struct ProcessorPlaceTests {
        @Test func `a thread leaves a processor to another one, if there is one`() throws {
            let place = ProcessorPlace.current
            let kept = try ProcessorPlace(.first)
            let first = ProcessorPlace.current
            kept.leave()
            let others = try ProcessorPlace(.allButFirst)
            let hasOthers = ProcessorPlace.current != first
            others.leave()
            let left = try ProcessorPlace(.allBut(place))
            #expect(ProcessorPlace.current != place || !hasOthers)
            left.leave()
        }

        @Test func `one that isn't known is left to nobody`() throws {
            for number: Int32 in [-1, .max] {
                let place = try ProcessorPlace(.allBut(number))
                #expect(ProcessorPlace.current >= 0)
                place.leave()
            }
        }
    }
#endif
