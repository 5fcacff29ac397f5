"""pytorch-fid's network without its download: the weights are the caller's."""
from unittest import mock

import pytorch_fid.inception as package
from torchvision.models import Inception3


def fid_network(**settings):
    """Returns pytorch-fid's network up to its last pool; all share `fid_network.inner`."""
    if fid_network.inner is None:
        with mock.patch.object(package, "load_state_dict_from_url", return_value=None), \
                mock.patch.object(Inception3, "load_state_dict"):
            fid_network.inner = package.fid_inception_v3()
    with mock.patch.object(package, "fid_inception_v3", return_value=fid_network.inner):
        network = package.InceptionV3([3], use_fid_inception=True, **settings)
    return network.eval()


fid_network.inner = None
