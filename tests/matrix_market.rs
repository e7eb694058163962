//! Sparse matrices from files: read, multiplied and verified by every rung that runs here.

mod required;

use gpu_ladder::backend::{Any, BACKENDS, Select};
use gpu_ladder::op::{Op, Spmv, read_matrix_market};
use gpu_ladder::{Error, Session, Verdict};

const FILES: [(&str, &str); 3] = [
    ("band", include_str!("data/band.mtx")),
    ("scattered", include_str!("data/scattered.mtx")),
    ("skewed", include_str!("data/skewed.mtx")),
];

#[test]
fn every_file_is_multiplied_by_every_rung() {
    for (backend, _) in BACKENDS.iter().filter(|(_, built)| *built) {
        let any = match pollster::block_on(Any::open_named(backend, &Select::default())) {
            Ok(any) => any,
            Err(error) if required::is_required(backend) => panic!("{backend} is required: {error}"),
            Err(error) => {
                eprintln!("{backend}: skipped: {error}");
                continue;
            }
        };
        let session = Session::new(any);
        for (name, text) in FILES {
            let sparse = read_matrix_market(text).expect(name);
            assert_eq!(sparse.starts.len() as u64, sparse.rows + 1, "{name}");
            pollster::block_on(async {
                let stage = session.stage(&Spmv, &sparse.problem(), sparse.inputs(1, name)).await.expect(name);
                for rung in Spmv.ladder() {
                    let prepared = match session.prepare(&stage, rung).await {
                        Err(Error::Unsupported { .. } | Error::Limit { .. }) => continue,
                        prepared => prepared.expect(name),
                    };
                    let verdict = session.verify(prepared).await.expect(name);
                    assert!(matches!(verdict, Verdict::Pass(_)), "{name}: {backend}/{}", rung.id());
                }
            });
        }
    }
}
