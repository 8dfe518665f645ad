"""torchvision's nets, with random weights: classifiers, segmentation, video."""

from case import Case, floats


def cases():
    import torch
    import torchvision.models as models
    from torch import nn
    from torch_layers import randomized

    class Segmented(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)["out"]

    classifiers = {
        "alexnet": 96, "vgg11": 32, "vgg11_bn": 32, "resnet18": 64, "resnet50": 64, "resnext50_32x4d": 64,
        "wide_resnet50_2": 64, "squeezenet1_0": 64, "squeezenet1_1": 64, "densenet121": 64, "googlenet": 64,
        "inception_v3": 96, "mobilenet_v2": 64, "mobilenet_v3_small": 64, "mobilenet_v3_large": 64, "mnasnet0_5": 64,
        "mnasnet1_0": 64, "shufflenet_v2_x0_5": 64, "shufflenet_v2_x1_0": 64, "efficientnet_b0": 64,
        "efficientnet_v2_s": 64, "regnet_y_400mf": 64, "regnet_x_400mf": 64, "convnext_tiny": 64, "vit_b_16": 224,
        "swin_t": 64, "swin_v2_t": 64, "maxvit_t": 224,
    }  # fmt: skip

    def classifier(name):
        options = {"num_classes": 10}
        if name in ("googlenet", "inception_v3"):
            options.update(aux_logits=False, init_weights=False)
        return randomized(getattr(models, name)(**options))

    for name, size in classifiers.items():
        yield Case(name, lambda name=name: classifier(name), floats("b", 3, size, size))
    for name in ("fcn_resnet50", "deeplabv3_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"):
        def segmentation(name=name):
            options = {"weights": None, "weights_backbone": None, "num_classes": 5}
            return Segmented(getattr(models.segmentation, name)(**options))  # deep: of trained size

        yield Case(name, segmentation, floats("b", 3, 64, 64))
    for name in ("r3d_18", "mc3_18", "r2plus1d_18"):
        yield Case(name, lambda name=name: randomized(getattr(models.video, name)(num_classes=10)), floats("b", 3, 4, 32, 32))

    class Detected(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            (found,) = self.inner([x])
            return found["boxes"], found["scores"], found["labels"]

    def image(batch, length):
        return (torch.rand(3, 96, 128),)

    for name in ("ssdlite320_mobilenet_v3_large", "fasterrcnn_mobilenet_v3_large_320_fpn", "retinanet_resnet50_fpn"):
        def detection(name=name):
            return Detected(getattr(models.detection, name)(weights=None, weights_backbone=None, num_classes=5))

        yield Case(name, detection, image, exporters=("script",))
